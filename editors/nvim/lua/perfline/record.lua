-- Records the program of a buffer with `perfline record`, in a terminal below, and goes to its hottest line.
local client = require('perfline.client')
local config = require('perfline.config')

local M = {}

-- Folders in which tools keep the environment of a project: those that the server looks for libraries in.
local ENVIRONMENTS = { '.venv', 'venv', 'env', '.conda', '.pixi/envs/default' }
local TERMINAL_LINES = 12
local EACH_MS = 1000

---@class perfline.Recording a program that is being recorded
---@field window integer that the program was in
---@field file string the program
---@field traces string what the recording may be written to, as a pattern
---@field since integer when it was started
---@field shown string[] the files that are shown, with their sizes

-- The Python of a program: that of the option, else of an environment in its folder or above it up to the project's, else the
-- active one, else the first on the PATH.
---@param file string
---@param root string
---@return string?
function M.python(file, root)
  local chosen = config.options.record.python
  if chosen ~= '' then return vim.fn.expand(chosen) end
  local folders = {}
  for folder in vim.fs.parents(file) do
    folders[#folders + 1] = folder
    if vim.fs.normalize(folder) == vim.fs.normalize(root) then break end
  end
  local found = {}
  for _, folder in ipairs(folders) do
    for _, name in ipairs(ENVIRONMENTS) do
      found[#found + 1] = vim.fs.joinpath(folder, name)
    end
  end
  vim.list_extend(found, { vim.env.VIRTUAL_ENV, vim.env.CONDA_PREFIX })
  for _, environment in ipairs(found) do
    local python = vim.fs.joinpath(environment, vim.fn.has('win32') == 1 and 'Scripts/python.exe' or 'bin/python')
    if vim.fn.executable(python) == 1 then return python end
  end
  for _, name in ipairs({ 'python3', 'python' }) do
    if vim.fn.executable(name) == 1 then return vim.fn.exepath(name) end
  end
end

-- The traces that were written since then, each with its size: they are whole when nothing of it changes.
---@param recording perfline.Recording
local function written(recording)
  local traces = {}
  for _, path in ipairs(vim.fn.glob(recording.traces, true, true)) do
    local stat = vim.uv.fs_stat(path)
    if stat and stat.mtime.sec >= recording.since then traces[#traces + 1] = ('%s %d'):format(path, stat.size) end
  end
  return traces
end

-- Goes to the hottest line, from the window of the program if that still shows it.
---@param recording perfline.Recording
local function reveal(recording)
  client.ask('hotLines', { limit = 20, ownOnly = true }, function(answer)
    for _, place in ipairs(answer.lines) do
      if place.uri and place.line and place.value > 0 then
        local name = ('%s:%d'):format(place.file, place.line)
        client.say(('%s was recorded; its hottest line is %s'):format(vim.fs.basename(recording.file), name))
        local is_there = vim.api.nvim_get_current_win() == recording.window
          and vim.api.nvim_buf_get_name(0) == recording.file
          and vim.fn.mode() == 'n'
        if is_there then require('perfline.pick').go(require('perfline.hot').items({ place })[1]) end
        return
      end
    end
  end)
end

-- Shows what was written, if that is not shown yet.
---@param recording perfline.Recording
---@param traces string[]
local function show(recording, traces)
  if #traces == 0 or vim.deep_equal(traces, recording.shown) then return end
  local first = #recording.shown == 0
  recording.shown = traces
  client.ask('load', {}, function()
    if first then reveal(recording) end
  end)
end

-- Starts a command in a terminal below, from where the window of the program stays the current one.
---@param command string[]
---@param cwd string
---@param on_exit fun(job: integer, status: integer)
local function in_terminal(command, cwd, on_exit)
  local window = vim.api.nvim_get_current_win()
  vim.cmd(('botright %dnew'):format(TERMINAL_LINES))
  local options = { cwd = cwd, on_exit = on_exit }
  if vim.fn.has('nvim-0.11') == 1 then
    options.term = true
    vim.fn.jobstart(command, options)
  else
    vim.fn.termopen(command, options)
  end
  -- A terminal follows what is written while the cursor is on its last line.
  vim.cmd('normal! G')
  vim.api.nvim_set_current_win(window)
end

---@param recording perfline.Recording
---@param command string[]
---@param root string
local function run(recording, command, root)
  local last = {}
  -- The program may go on for hours after its recording was written.
  local timer = assert(vim.uv.new_timer())
  timer:start(
    EACH_MS,
    EACH_MS,
    vim.schedule_wrap(function()
      if timer:is_closing() then return end
      local traces = written(recording)
      if vim.deep_equal(traces, last) then show(recording, traces) end
      last = traces
    end)
  )
  in_terminal(command, root, function(_, status)
    timer:close()
    local traces = written(recording)
    local name = vim.fs.basename(recording.file)
    if #traces == 0 then
      client.say(name .. ' ended, and nothing was recorded; its terminal says why', vim.log.levels.ERROR)
      return
    end
    show(recording, traces)
    if status ~= 0 then
      client.say(name .. ' failed or was ended; what was recorded until then is shown', vim.log.levels.WARN)
    end
  end)
end

-- Records the program of this buffer.
---@param arguments string[] of the program
function M.start(arguments)
  local file, root = vim.api.nvim_buf_get_name(0), client.root(0)
  if vim.bo.filetype ~= 'python' or vim.bo.buftype ~= '' or not root then
    return client.say('open the Python file to record: the program that you run', vim.log.levels.ERROR)
  end
  local python = M.python(file, root)
  if not python then
    return client.say('no Python was found; name one in the option record.python', vim.log.levels.ERROR)
  end
  vim.cmd('silent update')
  local window = vim.api.nvim_get_current_win()
  local start = { python, '-m', 'perfline', 'record' }
  vim.system(vim.list_extend(vim.list_slice(start), { '--help' }), { cwd = root, text = true }, function(done)
    vim.schedule(function()
      if done.code ~= 0 and done.stderr:find('No module named', 1, true) then
        local install = python .. ' -m pip install perfline'
        return client.say('the package perfline is needed to record: ' .. install, vim.log.levels.ERROR)
      elseif done.code ~= 0 then
        return client.say(('%s cannot record: %s'):format(python, vim.trim(done.stderr)), vim.log.levels.ERROR)
      end
      if not vim.api.nvim_win_is_valid(window) then return end
      local options = vim.list_slice(config.options.record.options)
      -- Where it is written is known from here on, and is below the folder in which recordings are looked for.
      local folder = vim.fs.joinpath(root, 'perfline-runs')
      vim.list_extend(options, { '--folder', folder })
      local command = vim.iter({ start, options, file, arguments }):flatten():totable()
      vim.api.nvim_win_call(
        window,
        function()
          run({
            window = window,
            file = file,
            traces = vim.fs.joinpath(folder, '*.pt.trace.json.gz'),
            since = os.time(),
            shown = {},
          }, command, root)
        end
      )
    end)
  end)
end

return M
