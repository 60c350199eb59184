-- Where the source files of a recording are: the folder of those that were not found, and which one of several copies was recorded.
--
-- An answer counts at once, as a setting of the server that runs. To make it last, it is written into the `perfline.toml` of the
-- project, if the user agrees: the terminal and other editors read that file, too, and whoever wonders why numbers stand where they do
-- finds it, which would not be so for a file of the plugin's own. But that file names folders of its project alone. A folder elsewhere
-- is a matter of this machine, and goes into the options of `setup()`, which are the user's to write.
local client = require('perfline.client')
local project_file = require('perfline.project_file')

local M = {}

-- After an answer: what loading may take until the next question is asked all the same, and what drawing takes.
local LOADING_MS, DRAWING_MS = 2000, 300

---@class perfline.SourceChoice a file of which several go with what was recorded
---@field recorded string
---@field choices { path: string, mapping: perfline.Mapping? }[] the one that is taken first

---@class perfline.Sources
---@field root string the project's folder
---@field missing string[] paths as recorded
---@field ambiguous perfline.SourceChoice[]

-- What was answered and is in no file, by the project's folder: also servers that are started later in this session know it.
---@type table<string, table<string, string>> folders by what is recorded
local answered = vim.defaulttable()

local group = vim.api.nvim_create_augroup('perfline.sources', {})

---@param server vim.lsp.Client
---@return string
local function project(server) return server.config.root_dir or '' end

-- The mappings in settings, which name them in either form.
---@param settings table? with the section `perfline`
---@return table<string, string>
local function mapped(settings)
  local section = settings and settings.perfline or {}
  return vim.tbl_get(section, 'sources', 'map') or section['sources.map'] or {}
end

---@param folder string
---@return boolean
local function is_absolute(folder) return folder:find('^/') ~= nil or folder:find('^%a:') ~= nil end

-- Where the mappings of a server lead, those of settings and of answers.
---@param server vim.lsp.Client
---@return string[] folders and files
function M.folders(server)
  local function place(folder)
    return vim.fs.normalize(is_absolute(folder) and folder or vim.fs.joinpath(project(server), folder))
  end
  return vim.tbl_map(place, vim.tbl_values(mapped(server.settings)))
end

-- The name by which a path is mapped already.
---@param map table<string, string>
---@param recorded string
---@return string?
local function name_in(map, recorded)
  for name in pairs(map) do
    if project_file.plain(name) == recorded then return name end
  end
end

---@param server vim.lsp.Client
---@param mappings perfline.Mapping[]
local function use(server, mappings)
  local map = vim.deepcopy(mapped(server.settings))
  for _, it in ipairs(mappings) do
    map[name_in(map, it.recorded) or it.recorded] = it.folder
  end
  client.configure(server, { sources = { map = map } })
end

-- Takes mappings back, so that what the project's file says counts.
---@param server vim.lsp.Client
---@param mappings perfline.Mapping[]
local function forget(server, mappings)
  local settings = vim.deepcopy(server.settings)
  local map = mapped(settings)
  for _, it in ipairs(mappings) do
    map[it.recorded] = nil
  end
  -- An empty table would be sent as a list.
  local sources = settings.perfline.sources
  if sources and next(map) == nil then sources.map = nil end
  if sources and next(sources) == nil then settings.perfline.sources = nil end
  client.set_settings(server, settings)
end

-- What is in the file and in the settings of the server, too, where it goes before the file: once somebody saves the file, that
-- counts alone.
---@param server vim.lsp.Client
---@param root string
---@param mappings perfline.Mapping[]
local function follow(server, root, mappings)
  local path = vim.uv.fs_realpath(vim.fs.joinpath(root, project_file.name))
  vim.api.nvim_create_autocmd('BufWritePost', {
    group = group,
    pattern = project_file.name,
    callback = function(event)
      if vim.uv.fs_realpath(event.match) ~= path then return end
      if vim.lsp.get_client_by_id(server.id) then
        client.notify(server, 'workspace/didChangeWatchedFiles', {
          changes = { { uri = vim.uri_from_fname(event.match), type = vim.lsp.protocol.FileChangeType.Changed } },
        })
        forget(server, mappings)
      end
      return true
    end,
  })
end

-- A folder by its path below the root; nil where it is elsewhere, by itself or by a link.
---@param root string
---@param folder string
---@return string?
local function below(root, folder)
  local place = vim.uv.fs_realpath(is_absolute(folder) and folder or vim.fs.joinpath(root, folder))
  local top = vim.uv.fs_realpath(root)
  if not place or not top then return nil end
  place, top = vim.fs.normalize(place), vim.fs.normalize(top)
  if place ~= top and not vim.startswith(place, vim.endswith(top, '/') and top or top .. '/') then return nil end
  if not is_absolute(folder) then return folder end
  return place == top and '.' or (place:sub(#top + 1):gsub('^/', ''))
end

---@param mappings perfline.Mapping[]
---@return string
local function named(mappings)
  if #mappings == 1 then return ('%s = %s'):format(mappings[1].recorded, mappings[1].folder) end
  return ('%d mappings'):format(#mappings)
end

-- What the options of `setup()` need to have.
---@param mappings perfline.Mapping[]
---@return string
local function option(mappings)
  local function quoted(text) return "'" .. text:gsub("[\\']", '\\%0') .. "'" end
  local entries = vim.tbl_map(
    function(it) return ('[%s] = %s'):format(quoted(it.recorded), quoted(it.folder)) end,
    mappings
  )
  return ('settings = { sources = { map = { %s } } }'):format(table.concat(entries, ', '))
end

-- Makes mappings that are in use last, as far as that is for the plugin to do.
---@param server vim.lsp.Client
---@param root string
---@param mappings perfline.Mapping[]
local function keep(server, root, mappings)
  local file = vim.fn.fnamemodify(vim.fs.joinpath(root, project_file.name), ':~:.')
  ---@param why string
  local function say_option(why)
    client.say(('%s is in use for this session. %s:\n%s'):format(named(mappings), why, option(mappings)))
  end
  ---@param why string
  local function say_lines(why)
    local lines = vim.tbl_map(project_file.line, mappings)
    local text = '%s is in use for this session. %s was not changed: %s. To keep it, add there:\n[sources.map]\n%s'
    client.say(text:format(named(mappings), file, why, table.concat(lines, '\n')), vim.log.levels.WARN)
  end
  for _, it in ipairs(mappings) do
    if name_in(mapped(server.config.settings), it.recorded) then
      return say_option('To keep it, change your setup(), which says something else')
    end
    if not below(root, it.folder) then
      return say_option(('%s takes folders of its project alone; to keep this one, add to setup()'):format(file))
    end
  end
  local problem = project_file.problem(root, mappings)
  if problem then return say_lines(problem) end
  local prompt = ('Keep %s for later sessions?'):format(named(mappings))
  local yes = 'Yes, write it into ' .. file
  vim.ui.select({ yes, 'No, for this session only' }, { prompt = prompt }, function(answer)
    -- Takes the list of Neovim's own away, behind which a message would wait for a key.
    vim.cmd.redraw()
    if answer ~= yes then return say_option('To keep it, add to setup()') end
    problem = project_file.add(root, mappings)
    if problem then return say_lines(problem) end
    for _, it in ipairs(mappings) do
      answered[project(server)][it.recorded] = nil
    end
    follow(server, root, mappings)
    client.say(('%s has %s'):format(project_file.name, named(mappings)))
  end)
end

---@param buf integer
---@param done fun(sources: perfline.Sources)
local function ask(buf, done)
  client.ask('sources', {}, function(sources)
    if not sources then return client.say('no recording is loaded', vim.log.levels.WARN) end
    done(sources)
  end, buf)
end

-- What waits for a server to have loaded the recording anew.
---@type table<integer, fun()>
local waiting = {}

-- Uses mappings, and asks whether they are to last: a moment after the numbers have appeared, because they show whether the answer
-- was right, and because the list of Neovim's own stops everything else.
---@param server vim.lsp.Client
---@param root string
---@param mappings perfline.Mapping[]
local function apply(server, root, mappings)
  for _, it in ipairs(mappings) do
    answered[project(server)][it.recorded] = it.folder
  end
  local is_asked = false
  local function ask_once()
    if is_asked then return end
    is_asked = true
    keep(server, root, mappings)
  end
  waiting[server.id] = function() vim.defer_fn(ask_once, DRAWING_MS) end
  vim.defer_fn(ask_once, LOADING_MS)
  use(server, mappings)
end

-- The mappings of files that were recorded by relative paths, which have no folder in common that a mapping could name: each of their
-- first names has one of its own.
---@param recorded string[]
---@param folder string where they may be
---@return perfline.Mapping[]
local function each_mapped(recorded, folder)
  local mappings, known = {}, {}
  for _, path in ipairs(recorded) do
    local name = not is_absolute(path) and path:match('^[^/\\]+')
    local stat = name and not known[name] and vim.uv.fs_stat(vim.fs.joinpath(folder, path))
    if stat and stat.type == 'file' then
      known[name] = true
      mappings[#mappings + 1] = { recorded = name, folder = vim.fs.joinpath(folder, name) }
    end
  end
  return mappings
end

-- Finds out what a folder is the folder of, and uses that.
---@param folder string
---@param buf integer of the project
local function locate(folder, buf)
  local server = client.get(buf)
  folder = vim.fs.normalize(vim.fn.fnamemodify(vim.fs.normalize(folder), ':p'))
  client.ask('locate', { folder = folder }, function(answer)
    ask(buf, function(sources)
      local mappings = is_absolute(answer.mapping.recorded) and {} or each_mapped(sources.missing, folder)
      if not vim.iter(mappings):any(function(it) return it.recorded == answer.mapping.recorded end) then
        table.insert(mappings, 1, answer.mapping)
      end
      for _, it in ipairs(mappings) do
        it.folder = below(answer.root, it.folder) or it.folder
      end
      apply(server, answer.root, mappings)
    end)
  end, buf)
end

---@param files string[]
---@return string
local function and_more(files)
  return #files > 1 and ('%s and %d more'):format(files[1], #files - 1) or files[1] or 'the sources'
end

-- Uses the files of a folder for those that were not found; without one, asks for it.
---@param folder string? empty: none
function M.locate(folder)
  local buf = vim.api.nvim_get_current_buf()
  if folder and folder ~= '' then return locate(folder, buf) end
  ask(buf, function(sources)
    local prompt = ('Folder of %s: '):format(and_more(sources.missing))
    local default = vim.fn.fnamemodify(sources.root, ':p:~')
    vim.ui.input({ prompt = prompt, default = default, completion = 'dir' }, function(answer)
      if answer and answer ~= '' then locate(answer, buf) end
    end)
  end)
end

-- Asks of one file after the other which one was recorded, until nothing more is answered.
---@param sources perfline.Sources
---@param done fun(chosen: perfline.Mapping[])
local function choose_each(sources, done)
  local chosen = {}
  local function from(place)
    local choice = sources.ambiguous[place]
    if not choice then return done(chosen) end
    -- What was chosen of one folder may say it of other files.
    for _, it in ipairs(chosen) do
      if vim.startswith(choice.recorded, it.recorded .. '/') then return from(place + 1) end
    end
    local items = vim.tbl_filter(function(it) return it.mapping ~= nil end, choice.choices)
    if #items == 0 then return from(place + 1) end
    local options = {
      prompt = ('Which file was recorded as %s?'):format(choice.recorded),
      format_item = function(it)
        local path = vim.fs.normalize(it.path):gsub('^' .. vim.pesc(vim.fs.normalize(sources.root)) .. '/', '')
        return it == choice.choices[1] and path .. '  (taken so far)' or path
      end,
    }
    vim.ui.select(items, options, function(it)
      if not it then return done(chosen) end
      chosen[#chosen + 1] = it.mapping
      from(place + 1)
    end)
  end
  from(1)
end

-- Lets the user say which files those are that may be several.
function M.choose()
  local buf = vim.api.nvim_get_current_buf()
  local server = client.get(buf)
  ask(buf, function(sources)
    if #sources.ambiguous > 0 then
      return choose_each(sources, function(chosen)
        if server and #chosen > 0 then apply(server, sources.root, chosen) end
      end)
    end
    if #sources.missing == 0 then return client.say('every source file was found once') end
    client.say(('not found: %s; :Perfline locate asks for the folder'):format(table.concat(sources.missing, ', ')))
  end)
end

-- The recordings of which something was said in this session.
---@type table<string, true>
local notified = {}

---@param sources { found: integer, edited: integer, missing: integer, ambiguous: integer }
---@return string? text, integer? level
local function doubt(sources)
  local missing, ambiguous = sources.missing, sources.ambiguous
  -- Each fits a line of 80 columns: nobody asked for it, so nobody should have to press a key to go on.
  if missing > 0 and ambiguous > 0 then
    local text = 'source files: %d not found (:Perfline locate), %d there twice (:Perfline sources)'
    return text:format(missing, ambiguous), vim.log.levels.INFO
  elseif missing > 0 and sources.found + sources.edited == 0 then
    return 'no source file was found; :Perfline locate asks for their folder', vim.log.levels.WARN
  elseif missing > 0 then
    local text = missing == 1 and '1 source file was' or missing .. ' source files were'
    return text .. ' not found; :Perfline locate asks for the folder', vim.log.levels.INFO
  elseif ambiguous > 0 then
    local text = ambiguous == 1 and '1 source file is' or ambiguous .. ' source files are'
    return text .. ' there twice; :Perfline sources asks which ran', vim.log.levels.INFO
  end
end

-- Says once of each recording that its sources are not certain, and what to do about it.
---@param client_id integer
---@param status perfline.Status
function M.on_status(client_id, status)
  if not status.loaded or status.loading then return end
  local go_on = waiting[client_id]
  waiting[client_id] = nil
  if go_on then go_on() end
  local text, level = doubt(status.sources)
  if not text then return end
  local paths = vim.tbl_map(function(it) return it.path end, status.inputs)
  local recording = table.concat(paths, '\n')
  if notified[recording] then return end
  notified[recording] = true
  client.say(text, level)
end

-- Gives a server what was answered to one of the same project before.
---@param server vim.lsp.Client
function M.attach(server)
  local map = mapped(server.settings)
  local mappings = {}
  for recorded, folder in pairs(answered[project(server)]) do
    if map[name_in(map, recorded) or recorded] ~= folder then
      mappings[#mappings + 1] = { recorded = recorded, folder = folder }
    end
  end
  if #mappings > 0 then use(server, mappings) end
end

return M
