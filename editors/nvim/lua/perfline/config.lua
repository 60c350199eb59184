-- The options: their defaults, their types, and the check of what somebody wrote.
local M = {}

---@alias perfline.Style 'line'|'number'|'sign'|'text'
---@alias perfline.Scope 'step'|'file'|'function'|'range'
---@alias perfline.Picker 'auto'|'select'|'telescope'|'fzf-lua'|'snacks'

---@class perfline.HeatOptions
---@field enabled boolean colour hot lines
---@field style perfline.Style|perfline.Style[] where: the line's background, its number, the sign column, text at the right edge
---@field scope 'step'|'file'|'function' what it is relative to
---@field colors string[] highlight groups whose foregrounds are the scale, cold to hot
---@field strength number share (0 to 1) of the hottest colour in the background of the hottest line

---@class perfline.RecordOptions
---@field python string the Python that programs are recorded with; empty: that of the project's or the active environment
---@field options string[] of `perfline record`

---@class perfline.Options
---@field cmd string[] how to start the server
---@field autostart boolean start it with the first Python file
---@field root_markers string[] files and folders that a project's folder has
---@field settings table the server's section `perfline` (docs/lsp.md)
---@field hints boolean turn on inlay hints in buffers with the server
---@field lenses boolean turn on code lenses in buffers with the server
---@field heat perfline.HeatOptions
---@field record perfline.RecordOptions
---@field formats string[] what `:Perfline format` goes through: `auto`, `share`, `value`, or templates (docs/lsp.md)
---@field picker perfline.Picker what lists open in; `auto` takes the first of telescope, fzf-lua and snacks that is there
---@field picker_keys { callers: string, callees: string } keys in telescope, fzf-lua and snacks
---@field border string|string[] of floating windows
local defaults = {
  cmd = { 'perfline', 'lsp' },
  autostart = true,
  root_markers = { 'pyproject.toml', 'setup.py', 'setup.cfg', 'requirements.txt', '.git' },
  settings = {},
  hints = true,
  lenses = true,
  heat = {
    enabled = true,
    style = { 'line', 'number' },
    scope = 'step',
    colors = { 'DiagnosticInfo', 'DiagnosticWarn', 'DiagnosticError' },
    strength = 0.3,
  },
  record = { python = '', options = {} },
  formats = { 'auto', 'share', 'value' },
  picker = 'auto',
  picker_keys = { callers = '<M-c>', callees = '<M-e>' },
  border = 'rounded',
}

-- Options that are groups of some.
local groups = { 'heat', 'record', 'picker_keys' }

-- Allowed values, where a type says too little.
local allowed = {
  style = { 'line', 'number', 'sign', 'text' },
  scope = { 'step', 'file', 'function' },
  picker = { 'auto', 'select', 'telescope', 'fzf-lua', 'snacks' },
}

---@type perfline.Options
M.options = vim.deepcopy(defaults)

-- Says what of `given` cannot be an option, and takes the rest.
---@param given table
---@param known table
---@param prefix string
---@param problems string[]
local function checked(given, known, prefix, problems)
  local good = {}
  for name, value in pairs(given) do
    local default, path = known[name], prefix .. tostring(name)
    -- One, or a list of several.
    local either = (name == 'style' or name == 'border') and (type(value) == 'table' or type(value) == 'string')
    if default == nil then
      problems[#problems + 1] = ('%s is no option'):format(path)
    elseif type(value) ~= type(default) and not either then
      problems[#problems + 1] = ('%s: a %s is needed, not %s'):format(path, type(default), vim.inspect(value))
    elseif vim.tbl_contains(groups, name) then
      good[name] = checked(value, default, path .. '.', problems)
    else
      local choices = allowed[name]
      for _, choice in ipairs(choices and (type(value) == 'table' and value or { value }) or {}) do
        if not vim.tbl_contains(choices, choice) then
          problems[#problems + 1] = ('%s: %q is none of %s'):format(path, choice, table.concat(choices, ', '))
          value = nil
        end
      end
      good[name] = value
    end
  end
  return good
end

---@param given table
function M.set(given)
  local problems = {}
  local good = checked(given, defaults, '', problems)
  M.options = vim.tbl_extend('force', vim.deepcopy(defaults), good)
  for _, name in ipairs(groups) do
    M.options[name] = vim.tbl_extend('force', vim.deepcopy(defaults[name]), good[name] or {})
  end
  if #problems > 0 then vim.notify('perfline: ' .. table.concat(problems, '\n'), vim.log.levels.WARN) end
end

return M
