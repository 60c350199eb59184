-- The server: how it is started, and how it is asked.
local config = require('perfline.config')

local M = {}

---@class perfline.View
---@field metric string as chosen
---@field effectiveMetric string what `auto` stands for
---@field charge 'own'|'total'
---@field step 'mean'|'run'|integer
---@field rank 'all'|integer
---@field filter perfline.Filter which lines are shown, and which part of the recording; all where it is empty
---@field part { filter: string, extent: string }? the part whose numbers are shown, and how much of the recording that is
---@field steps integer[]
---@field ranks integer[]

---@class perfline.Filter
---@field files string[]
---@field functions string[]
---@field modules string[]
---@field steps string[]
---@field threads string[]
---@field streams integer[]
---@field phase string?

---@class perfline.Input
---@field path string
---@field kind string
---@field events integer
---@field complete boolean

---@class perfline.Status
---@field version string
---@field view perfline.View
---@field loaded boolean
---@field loading boolean
---@field soFar { steps: integer, share: number, text: string }? how much of a long recording is shown while the rest is read
---@field inputs perfline.Input[]
---@field failures string[]
---@field lines integer
---@field withoutLines string? why no line is known, and what to do about it
---@field attributedText { cpu: string?, cuda: string? } shares
---@field evidence { exact: integer, inferred: integer, function: integer } lines
---@field sources { found: integer, edited: integer, missing: integer, ambiguous: integer } files
---@field sitePackages string[]
---@field summary string

-- What the server is started for: programs, and the notebooks that are plain text.
M.filetypes = { 'python', 'markdown', 'quarto' }

-- The last status of each client.
---@type table<integer, perfline.Status>
local statuses = {}

-- Whether a buffer is a program or a notebook: Markdown is one if it has Python in fences.
---@param buf integer
local function is_python(buf)
  if vim.bo[buf].filetype == 'python' then return true end
  for _, line in ipairs(vim.api.nvim_buf_get_lines(buf, 0, -1, false)) do
    local language = line:match('^```+%s*{?%.?([%w-]+)') or line:match('^~~~+%s*{?%.?([%w-]+)')
    if language == 'python' or language == 'code-cell' then return true end
  end
  return false
end

-- The project whose server finds sources of its recording in a folder above a file, by a mapping.
---@param file string
---@return string?
local function project_with(file)
  local located = require('perfline.sources').folders
  for _, server in ipairs(vim.lsp.get_clients({ name = 'perfline' })) do
    for _, folder in ipairs(located(server)) do
      if file == folder or vim.startswith(file, folder .. '/') then return server.config.root_dir end
    end
  end
end

-- The folder of a buffer's project. Without any marker: the working directory if the file is below it, because recordings are
-- looked for in that folder; else that of the server which runs, because a file of no project is one of a library that it may know;
-- else the file's own.
---@param buf integer
---@return string?
function M.root(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  if name == '' then return nil end
  local root = project_with(vim.fs.normalize(name)) or vim.fs.root(buf, config.options.root_markers)
  if root then return root end
  local here, home = vim.uv.cwd(), vim.uv.os_homedir()
  if here and here ~= '/' and here ~= home and vim.startswith(vim.fs.normalize(name), here .. '/') then return here end
  local server = vim.lsp.get_clients({ name = 'perfline' })[1]
  return server and server.config.root_dir or vim.fs.dirname(name)
end

-- JSON's null is nothing in Lua; what answers requests leaves it a value of its own.
---@param value any
local function without_null(value)
  if value == vim.NIL then return nil end
  if type(value) ~= 'table' then return value end
  local clean = {}
  for key, it in pairs(value) do
    clean[key] = without_null(it)
  end
  return clean
end

-- A client's status: kept, passed to its listeners, and a reason to colour anew.
---@param client_id integer
---@param status perfline.Status
local function on_status(client_id, status)
  statuses[client_id] = status
  if status.loaded then require('perfline.recent').add(status.inputs) end
  require('perfline.format').send()
  require('perfline.heat').refresh_all(client_id)
  local server = vim.lsp.get_client_by_id(client_id)
  require('perfline.hints').on_change(server and vim.tbl_keys(server.attached_buffers) or {})
  require('perfline.sources').on_status(client_id, status)
  vim.api.nvim_exec_autocmds('User', { pattern = 'PerflineStatus', modeline = false, data = status })
  vim.cmd.redrawstatus()
end

---@return vim.lsp.ClientConfig
function M.config()
  local options = config.options
  local capabilities = vim.lsp.protocol.make_client_capabilities()
  -- Neovim shows the marks of Markdown, or hides them so that columns of tables do not line up any more.
  capabilities.textDocument.hover.contentFormat = { 'plaintext' }
  capabilities.experimental = { perfline = { status = true, explain = true, setSettings = true } }
  local handlers = {
    ['perfline/status'] = function(_, status, context) on_status(context.client_id, without_null(status)) end,
    ['textDocument/inlayHint'] = function(...) return require('perfline.hints').on_answer(...) end,
  }
  if not vim.lsp.codelens.enable then -- before 0.12 nothing fetches lenses again
    capabilities.workspace.codeLens = { refreshSupport = true }
    handlers['workspace/codeLens/refresh'] = function(_, _, context)
      require('perfline.attach').refresh_lenses(context.client_id)
      return vim.NIL
    end
  end
  return {
    name = 'perfline',
    cmd = options.cmd,
    filetypes = M.filetypes,
    root_dir = function(buf, start)
      local root = is_python(buf) and M.root(buf)
      if root then start(root) end
    end,
    settings = { perfline = options.settings },
    capabilities = capabilities,
    handlers = handlers,
    commands = {
      -- What a lens does: the lines below it.
      ['perfline.hotLines'] = function(command) require('perfline.hot').of_lens(command.arguments) end,
      -- What the code action "Explain" does.
      ['perfline.explain'] = function(command) require('perfline.findings').explain(command.arguments[1]) end,
    },
    exit_timeout = 1000,
  }
end

local warned = false

---@param buf integer
function M.autostart(buf)
  if not config.options.autostart or not is_python(buf) then return end
  if vim.fn.executable(config.options.cmd[1]) == 0 then
    if not warned then
      warned = true
      vim.notify(
        ('perfline: %s is no program; see :checkhealth perfline'):format(config.options.cmd[1]),
        vim.log.levels.WARN
      )
    end
    return
  end
  M.start(buf)
end

-- Starts the server for a buffer, or attaches the one that runs for its project.
---@param buf integer
function M.start(buf)
  if not vim.lsp.enable then -- 0.10
    if vim.bo[buf].buftype ~= '' then return end
    local start = M.config()
    local resolve = start.root_dir
    resolve(buf, function(root)
      start.root_dir = root
      vim.lsp.start(start, { bufnr = buf })
    end)
  elseif vim.v.vim_did_enter == 0 then -- too early for vim.lsp.enable to look at buffers that are there already
    vim.api.nvim_create_autocmd('VimEnter', { once = true, callback = function() vim.lsp.enable('perfline') end })
  else
    vim.lsp.enable('perfline')
  end
end

function M.stop()
  if vim.lsp.enable then
    vim.lsp.enable('perfline', false)
  else
    for _, client in ipairs(vim.lsp.get_clients({ name = 'perfline' })) do
      client.stop()
    end
  end
end

-- The client of a buffer, else any.
---@param buf integer?
---@return vim.lsp.Client?
function M.get(buf)
  return vim.lsp.get_clients({ name = 'perfline', bufnr = buf or vim.api.nvim_get_current_buf() })[1]
    or vim.lsp.get_clients({ name = 'perfline' })[1]
end

---@param buf integer?
---@return perfline.Status?
function M.status(buf)
  local client = M.get(buf)
  return client and statuses[client.id]
end

---@param message string
---@param level integer?
function M.say(message, level) vim.notify('perfline: ' .. message, level or vim.log.levels.INFO) end

-- Says why there is nothing to show.
---@param reason string of a recording that has lines
function M.say_nothing(reason)
  local status = M.status()
  if not (status and status.loaded) then reason = 'no recording is loaded' end
  M.say(status and status.withoutLines or 'nothing to show: ' .. reason)
end

-- Asks the server, and calls `done` with its answer; reports what went wrong.
---@param command string without `perfline.`
---@param argument table by name
---@param done fun(result: any)
---@param buf integer?
function M.ask(command, argument, done, buf)
  local client = M.get(buf)
  if not client then
    M.say('no server runs here; open a Python file, or :checkhealth perfline', vim.log.levels.WARN)
    return
  end
  local parameters =
    { command = 'perfline.' .. command, arguments = { next(argument) and argument or vim.empty_dict() } }
  local function handler(failure, result)
    if failure then
      -- A server that is being stopped takes no request any more; one that was cancelled is asked anew.
      local codes = vim.lsp.protocol.ErrorCodes
      local quiet = failure.code == codes.RequestCancelled or failure.code == codes.InvalidRequest
      if not quiet then M.say(failure.message, vim.log.levels.ERROR) end
    else
      done(without_null(result))
    end
  end
  buf = buf or vim.api.nvim_get_current_buf()
  if vim.fn.has('nvim-0.11') == 1 then
    client:request('workspace/executeCommand', parameters, handler, buf)
  else
    client.request('workspace/executeCommand', parameters, handler, buf)
  end
end

-- What a filter can be given of the recording that is loaded: lists by name, empty where there is none.
---@return table<string, (string|integer)[]>
function M.values()
  local client = M.get()
  if not client then return {} end
  local parameters = { command = 'perfline.filterValues', arguments = {} }
  local buf = vim.api.nvim_get_current_buf()
  local answer
  if vim.fn.has('nvim-0.11') == 1 then
    answer = client:request_sync('workspace/executeCommand', parameters, 1000, buf)
  else
    answer = client.request_sync('workspace/executeCommand', parameters, 1000, buf)
  end
  return answer and without_null(answer.result) or {}
end

---@param client vim.lsp.Client
---@param method string
---@param parameters table
function M.notify(client, method, parameters)
  if vim.fn.has('nvim-0.11') == 1 then
    client:notify(method, parameters)
  else
    client.notify(method, parameters)
  end
end

-- Sends a server other settings.
---@param client vim.lsp.Client
---@param settings table with the section `perfline`
function M.set_settings(client, settings)
  client.settings = settings
  M.notify(client, 'workspace/didChangeConfiguration', { settings = settings })
end

-- Sends a server settings in place of those of the same names; all others stay as they are.
---@param client vim.lsp.Client
---@param changes table
function M.configure(client, changes)
  M.set_settings(client, vim.tbl_deep_extend('force', client.settings or {}, { perfline = changes }))
end

return M
