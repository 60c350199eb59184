-- The server's Markdown as plain text with columns that line up, because a floating window shows a table as it is written.
local M = {}

---@class perfline.Mark
---@field row integer from 0
---@field first integer byte column from 0
---@field last integer
---@field group string

---@param text string
---@return string
local function plain(text) return (text:gsub('%*%*(.-)%*%*', '%1'):gsub('`(.-)`', '%1'):gsub('\\(%p)', '%1')) end

---@param line string
---@return string[]?
local function cells(line)
  local inner = line:match('^|(.*)|%s*$')
  if not inner then return nil end
  -- A bar that belongs to the text is written `\|`.
  local found = vim.split(inner:gsub('\\|', '\0'), '|')
  return vim.tbl_map(function(it) return plain(vim.trim((it:gsub('%z', '|')))) end, found)
end

---@param row string[]
---@return boolean
local function is_rule(row)
  for _, it in ipairs(row) do
    if not it:match('^:?%-+:?$') then return false end
  end
  return true
end

-- The rows of a table, its columns aligned as its rule says.
---@param rows string[][]
---@return string[]
local function aligned(rows)
  local widths, right = {}, {}
  for _, row in ipairs(rows) do
    for column, it in ipairs(row) do
      if is_rule(row) then
        right[column] = it:match(':$') ~= nil
      else
        widths[column] = math.max(widths[column] or 0, vim.fn.strdisplaywidth(it))
      end
    end
  end
  local lines = {}
  for _, row in ipairs(rows) do
    if not is_rule(row) then
      local parts = {}
      for column, it in ipairs(row) do
        local space = (' '):rep(widths[column] - vim.fn.strdisplaywidth(it))
        parts[column] = right[column] and space .. it or it .. space
      end
      lines[#lines + 1] = (table.concat(parts, '  '):gsub('%s+$', ''))
    end
  end
  return lines
end

-- Prose in lines of `width` at most.
---@param text string
---@param width integer
---@return string[]
local function wrapped(text, width)
  local lines, line = {}, ''
  for word in text:gmatch('%S+') do
    if line ~= '' and vim.fn.strdisplaywidth(line) + 1 + vim.fn.strdisplaywidth(word) > width then
      lines[#lines + 1], line = line, ''
    end
    line = line == '' and word or line .. ' ' .. word
  end
  lines[#lines + 1] = line
  return lines
end

---@param markdown string
---@param width integer of prose; tables are as wide as they are
---@return string[] lines, perfline.Mark[] marks
function M.lines(markdown, width)
  local lines, marks, rows = {}, {}, {}
  local function close()
    for place, line in ipairs(aligned(rows)) do
      lines[#lines + 1] = line
      marks[#marks + 1] = place == 1 and { row = #lines - 1, first = 0, last = #line, group = 'Comment' } or nil
    end
    rows = {}
  end
  for _, line in ipairs(vim.split(vim.trim(markdown), '\n')) do
    local row = cells(line)
    if row then
      rows[#rows + 1] = row
    else
      close()
      local prose, bold = wrapped(plain(line), width), line:match('^%*%*(.-)%*%*')
      if bold then
        marks[#marks + 1] = { row = #lines, first = 0, last = math.min(#plain(bold), #prose[1]), group = 'Title' }
      end
      vim.list_extend(lines, prose)
    end
  end
  close()
  return lines, marks
end

return M
