-- The `perfline.toml` of a project. Mappings of sources are added to it; nothing else in it is changed.
--
-- This is no parser of TOML: the file is written only if its lines are of a form that leaves no doubt about where a mapping belongs.
local M = {}

M.name = 'perfline.toml'

---@class perfline.Mapping
---@field recorded string a folder or a file, as the recording names it
---@field folder string where that is: absolute, or below the project's folder

---@param text string
---@return string
local function quoted(text)
  local escaped = text:gsub('[\\"]', '\\%0'):gsub('%c', function(it) return ('\\u%04X'):format(it:byte()) end)
  return '"' .. escaped .. '"'
end

---@param mapping perfline.Mapping
---@return string
function M.line(mapping) return quoted(mapping.recorded) .. ' = ' .. quoted(mapping.folder) end

-- A path as the server compares it.
---@param recorded string
---@return string
function M.plain(recorded) return (vim.trim(recorded):gsub('\\', '/'):gsub('(.)/+$', '%1')) end

-- The string that begins at a column, with the column behind it. None with escapes other than those of quotes and backslashes.
---@param line string
---@param first integer
---@return string? text, integer? behind
local function string_at(line, first)
  local quote, text, at = line:sub(first, first), '', first + 1
  if quote ~= '"' and quote ~= "'" then return nil end
  while at <= #line do
    local char = line:sub(at, at)
    if char == quote then return text, at + 1 end
    if char == '\\' and quote == '"' then
      at = at + 1
      char = line:sub(at, at)
      if char ~= '\\' and char ~= '"' then return nil end
    end
    text, at = text .. char, at + 1
  end
end

-- The key of a line such as `"/srv/app" = "app" # where it is`, with the columns of the value: its first, and that behind it.
---@param line string
---@return string? key, integer? first, integer? behind
local function entry(line)
  local start = line:find('%S') or 1
  local key, after = string_at(line, start)
  if not key then
    key, after = line:match('^([%w_-]+)()', start)
  end
  local first = key and line:match('^%s*=%s*()', after)
  if not first then return nil end
  local value, behind = string_at(line, first)
  if value and line:find('^%s*$', behind) or value and line:find('^%s*#', behind) then return key, first, behind end
end

-- The text of a file with mappings in its table `sources.map`, in place of those that it has for the same paths. Nil if it is not
-- certain where they belong.
---@param text string
---@param mappings perfline.Mapping[]
---@return string?
function M.with(text, mappings)
  -- What stands in texts of several lines looks like keys and is none.
  if text:find('"""', 1, true) or text:find("'''", 1, true) then return nil end
  local lines = vim.split(text, '\n', { plain = true })
  if lines[#lines] == '' then table.remove(lines) end
  ---@type integer?, table<string, integer>
  local last, entries = nil, {} -- the last line of the table, and the lines of its entries
  local inside = false
  for place, line in ipairs(lines) do
    local header = line:match('^%s*%[([^%[%]]*)%]%s*$') or line:match('^%s*%[([^%[%]]*)%]%s*#')
    local name = header and header:gsub('%s', '')
    local before_value = line:match('^[^=#]*')
    if name == 'sources.map' then
      if last then return nil end
      last, inside = place, true
    elseif inside and not line:find('^%s*%[') then
      local key = entry(line)
      if key then
        entries[M.plain(key)], last = place, place
      elseif line:find('^%s*[^#%s]') then
        return nil
      end
    else
      inside = false
      -- The table may be there in another form: `sources = {…}`, `sources.map = {…}`, `map` below `[sources]`.
      local is_other_form = before_value:find('sources', 1, true) and name ~= 'sources'
      if is_other_form or before_value:find('%f[%w]map%f[%W]') then return nil end
    end
  end
  local line_end = text:find('\r\n', 1, true) and '\r' or ''
  local new = {}
  for _, mapping in ipairs(mappings) do
    local place = entries[mapping.recorded]
    if place then
      local _, first, behind = entry(lines[place])
      lines[place] = lines[place]:sub(1, first - 1) .. quoted(mapping.folder) .. lines[place]:sub(behind)
    else
      new[#new + 1] = M.line(mapping) .. line_end
    end
  end
  if not last and #new > 0 then
    if #lines > 0 and not lines[#lines]:find('^%s*$') then
      if not text:find('\n$') then lines[#lines] = lines[#lines] .. line_end end
      lines[#lines + 1] = line_end
    end
    lines[#lines + 1] = '[sources.map]' .. line_end
    last = #lines
  elseif last == #lines and not text:find('\n$') then
    lines[last] = lines[last] .. line_end
  end
  for place, line in ipairs(new) do
    table.insert(lines, last + place, line)
  end
  return table.concat(lines, '\n') .. '\n'
end

-- A buffer with the file, if one is loaded.
---@param path string
---@return integer?
local function buffer(path)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(buf)
    local is_it = vim.fs.basename(name) == M.name and vim.uv.fs_realpath(name) == vim.uv.fs_realpath(path)
    if is_it and vim.api.nvim_buf_is_loaded(buf) then return buf end
  end
end

-- Writes a file as a whole or not at all.
---@param path string
---@param text string
---@return string? problem
local function replace(path, text)
  local before = vim.uv.fs_stat(path)
  local mode = before and before.mode % 512 or tonumber('644', 8)
  local new = vim.fs.joinpath(vim.fs.dirname(path), ('.%s.%d'):format(M.name, vim.uv.os_getpid()))
  local file, problem = vim.uv.fs_open(new, 'wx', mode)
  if not file then return problem end
  local written
  written, problem = vim.uv.fs_write(file, text, 0)
  if written and written < #text then problem = 'it could not be written' end
  if not problem then problem = select(2, vim.uv.fs_fsync(file)) end
  vim.uv.fs_close(file)
  if not problem and before then problem = select(2, vim.uv.fs_chmod(new, mode)) end
  if not problem then problem = select(2, vim.uv.fs_rename(new, path)) end
  if problem then vim.uv.fs_unlink(new) end
  return problem
end

-- What the file of a folder would be with these mappings; nil, and why, where they cannot be added.
---@param folder string
---@param mappings perfline.Mapping[]
---@return string? text, string? why
local function planned(folder, mappings)
  local path = vim.fs.joinpath(folder, M.name)
  local stat = vim.uv.fs_lstat(path)
  local text = ''
  if stat then
    if stat.type ~= 'file' then return nil, 'it is no regular file' end
    if not vim.uv.fs_access(path, 'W') then return nil, 'it cannot be written' end
    local buf = buffer(path)
    if buf and vim.bo[buf].modified then return nil, 'its buffer has changes that are not saved' end
    local file, problem = io.open(path, 'rb')
    if not file then return nil, problem end
    text = file:read('*a') or ''
    file:close()
  end
  local new = M.with(text, mappings)
  if not new then return nil, 'it has other forms than are edited here' end
  return new
end

-- Why the file of a folder cannot be given mappings; nil where it can.
---@param folder string
---@param mappings perfline.Mapping[]
---@return string?
function M.problem(folder, mappings) return select(2, planned(folder, mappings)) end

-- Adds mappings to the file of a folder, which is made if there is none.
---@param folder string
---@param mappings perfline.Mapping[]
---@return string? problem
function M.add(folder, mappings)
  local text, problem = planned(folder, mappings)
  if not text then return problem end
  local path = vim.fs.joinpath(folder, M.name)
  problem = replace(path, text)
  local buf = not problem and buffer(path)
  if buf then vim.cmd('checktime ' .. buf) end
  return problem
end

return M
