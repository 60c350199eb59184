-- Lists to choose a line from: `vim.ui.select`, or the picker that is installed.
local config = require('perfline.config')

local M = {}

local ATTACHED_MS = 3000

-- Goes to a line of a cell once its notebook is open: a plugin may show it as text, and then the server knows the line.
---@param cell perfline.Cell
local function go_to_cell(cell)
  local client = require('perfline.client')
  local buf = vim.api.nvim_get_current_buf()
  local function is_attached() return #vim.lsp.get_clients({ name = 'perfline', bufnr = buf }) > 0 end
  vim.wait(ATTACHED_MS, function() return is_attached() or vim.bo[buf].filetype == 'json' end, 10)
  local function say() client.say(('the line is line %d of %s'):format(cell.recordedLine, cell.file)) end
  if not is_attached() then return say() end
  client.ask('place', { file = cell.file, line = cell.recordedLine }, function(place)
    if not (place and place.line and place.uri == vim.uri_from_bufnr(buf)) then return say() end
    if vim.api.nvim_get_current_buf() ~= buf then return end
    vim.api.nvim_win_set_cursor(0, { place.line, 0 })
    vim.cmd('normal! ^zvzz')
  end, buf)
end

---@param it perfline.Item
function M.go(it)
  if not it.filename then
    require('perfline.client').say('the file is not here')
    return
  end
  vim.cmd("normal! m'")
  if vim.fs.normalize(it.filename) ~= vim.fs.normalize(vim.api.nvim_buf_get_name(0)) then
    vim.cmd.edit(vim.fn.fnameescape(it.filename))
  end
  if it.cell then return go_to_cell(it.cell) end
  vim.api.nvim_win_set_cursor(0, { math.min(it.lnum, vim.api.nvim_buf_line_count(0)), 0 })
  vim.cmd('normal! ^zvzz')
end

-- The beginning of a text, where it is too long for a line of the screen.
---@param text string
---@param width integer
---@return string
local function cut(text, width)
  if vim.fn.strdisplaywidth(text) <= width then return text end
  local length = width
  while vim.fn.strdisplaywidth(vim.fn.strcharpart(text, 0, length)) >= width do
    length = length - 1
  end
  return vim.fn.strcharpart(text, 0, length) .. '…'
end

-- What the keys of a picker do with the item under its cursor: list who calls the line, or what it calls.
---@return table<string, fun(it: perfline.Item)> by name: `callers`, `callees`
local function steps()
  local found = {}
  for _, name in ipairs({ 'callers', 'callees' }) do
    found[name] = function(it)
      if not it.filename then return require('perfline.client').say('the file is not here') end
      require('perfline.details')[name]({ uri = vim.uri_from_fname(it.filename), line = it.lnum })
    end
  end
  return found
end

---@param buf integer that shows a file
---@param path string?
local function heat(buf, path)
  if path then require('perfline.heat').paint(buf, vim.uri_from_fname(vim.fn.fnamemodify(path, ':p'))) end
end

---@type table<string, fun(items: perfline.Item[], title: string)>
local pickers = {}

function pickers.select(items, title)
  -- Before each line stands its number.
  local width = vim.o.columns - 6
  local options = { prompt = title, kind = 'perfline', format_item = function(it) return cut(it.text, width) end }
  vim.ui.select(items, options, function(it)
    if it then M.go(it) end
  end)
end

-- A file as telescope shows it, with the heat of its lines.
local function telescope_previewer()
  local maker = require('telescope.config').values.buffer_previewer_maker
  return require('telescope.previewers').new_buffer_previewer({
    title = 'Heat',
    get_buffer_by_name = function(_, entry) return entry.filename end,
    define_preview = function(self, entry)
      if not entry.filename then return end
      maker(entry.filename, self.state.bufnr, {
        bufname = self.state.bufname,
        winid = self.state.winid,
        callback = function(buf)
          local window = self.state.winid
          if not (window and vim.api.nvim_win_is_valid(window)) then return end
          local last = vim.api.nvim_buf_line_count(buf)
          vim.api.nvim_win_set_cursor(window, { math.min(entry.lnum, last), 0 })
          vim.api.nvim_win_call(window, function() vim.cmd('normal! zz') end)
          heat(buf, entry.filename)
        end,
      })
    end,
  })
end

---@param given table? options of telescope's picker
function pickers.telescope(items, title, given)
  local actions = require('telescope.actions')
  local finder = require('telescope.finders').new_table({
    results = items,
    entry_maker = function(it)
      return { value = it, display = it.text, ordinal = it.text, filename = it.filename, lnum = it.lnum, col = 1 }
    end,
  })
  local function attach_mappings(prompt, map)
    for name, step in pairs(steps()) do
      map({ 'i', 'n' }, config.options.picker_keys[name], function()
        local entry = require('telescope.actions.state').get_selected_entry()
        actions.close(prompt)
        if entry then step(entry.value) end
      end)
    end
    return true
  end
  local options = {
    prompt_title = title,
    finder = finder,
    previewer = telescope_previewer(),
    sorter = require('telescope.config').values.generic_sorter({}),
    attach_mappings = attach_mappings,
  }
  require('telescope.pickers').new(given or {}, options):find()
end

pickers['fzf-lua'] = function(items, title)
  local by_line, lines = {}, {}
  for place, it in ipairs(items) do
    lines[place] = ('%s:%d:1:%s'):format(it.filename or '', it.lnum, it.text)
    by_line[lines[place]] = it
  end
  local base = require('fzf-lua.previewer.builtin').buffer_or_file
  local previewer = base:extend()
  function previewer:new(...)
    base.new(self, ...)
    return setmetatable(self, previewer)
  end
  function previewer:preview_buf_post(entry, ...)
    base.preview_buf_post(self, entry, ...)
    if self.preview_bufnr then heat(self.preview_bufnr, entry.path) end
  end
  local actions = vim.tbl_extend('force', {}, require('fzf-lua').defaults.actions.files)
  for name, step in pairs(steps()) do
    local key = config.options.picker_keys[name]:lower():gsub('[<>]', ''):gsub('^[ma]%-', 'alt-'):gsub('^c%-', 'ctrl-')
    actions[key] = function(chosen)
      local it = by_line[chosen[1]]
      if it then step(it) end
    end
  end
  require('fzf-lua').fzf_exec(lines, {
    prompt = title .. '> ',
    previewer = previewer,
    actions = actions,
    fzf_opts = { ['--delimiter'] = ':', ['--with-nth'] = '4..', ['--no-sort'] = true },
  })
end

function pickers.snacks(items, title)
  local entries = {}
  for place, it in ipairs(items) do
    entries[place] = { idx = place, text = it.text, file = it.filename, pos = { it.lnum, 0 }, perfline = it }
  end
  local actions, keys = {}, {}
  for name, step in pairs(steps()) do
    local action = 'perfline_' .. name
    actions[action] = function(picker, entry)
      picker:close()
      if entry then step(entry.perfline) end
    end
    keys[config.options.picker_keys[name]] = { action, mode = { 'n', 'i' } }
  end
  require('snacks').picker.pick({
    title = title,
    items = entries,
    format = function(entry) return { { entry.text } } end,
    preview = function(context)
      local shown = require('snacks').picker.preview.file(context)
      heat(context.buf, context.item.file)
      return shown
    end,
    actions = actions,
    win = { input = { keys = keys }, list = { keys = keys } },
    sort = { fields = { 'score:desc', 'idx' } },
  })
end

-- Where each picker is, to see whether it is installed.
local modules = { telescope = 'telescope', ['fzf-lua'] = 'fzf-lua', snacks = 'snacks' }

-- The picker in use.
---@return string
function M.name()
  local wanted = config.options.picker
  if wanted ~= 'auto' then return wanted end
  for _, name in ipairs({ 'telescope', 'fzf-lua', 'snacks' }) do
    local found, module = pcall(require, modules[name])
    if found and (name ~= 'snacks' or (module.config.picker or {}).enabled ~= false) then return name end
  end
  return 'select'
end

-- How many items it can show: the plain list of Neovim cannot be scrolled back.
---@return integer
function M.capacity() return M.name() == 'select' and 20 or 100 end

-- Lists in telescope, whatever is chosen: for its extension.
---@param items perfline.Item[]
---@param title string
---@param given table options of telescope's picker
function M.telescope(items, title, given) pickers.telescope(items, title, given) end

return setmetatable(M, {
  ---@param items perfline.Item[]
  ---@param title string
  __call = function(_, items, title) pickers[M.name()](items, title) end,
})
