-- Lists to choose a line from: `vim.ui.select`, or the picker that is installed.
local config = require('perfline.config')

local M = {}

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
  vim.api.nvim_win_set_cursor(0, { math.min(it.lnum, vim.api.nvim_buf_line_count(0)), 0 })
  vim.cmd('normal! ^zvzz')
end

---@type table<string, fun(items: perfline.Item[], title: string)>
local pickers = {}

function pickers.select(items, title)
  local options = { prompt = title, kind = 'perfline', format_item = function(it) return it.text end }
  vim.ui.select(items, options, function(it)
    if it then M.go(it) end
  end)
end

function pickers.telescope(items, title)
  local conf = require('telescope.config').values
  local finder = require('telescope.finders').new_table({
    results = items,
    entry_maker = function(it)
      return { value = it, display = it.text, ordinal = it.text, filename = it.filename, lnum = it.lnum, col = 1 }
    end,
  })
  local options =
    { prompt_title = title, finder = finder, previewer = conf.grep_previewer({}), sorter = conf.generic_sorter({}) }
  require('telescope.pickers').new({}, options):find()
end

pickers['fzf-lua'] = function(items, title)
  local lines = vim.tbl_map(function(it) return ('%s:%d:1:%s'):format(it.filename or '', it.lnum, it.text) end, items)
  require('fzf-lua').fzf_exec(lines, {
    prompt = title .. '> ',
    previewer = 'builtin',
    actions = require('fzf-lua').defaults.actions.files,
    fzf_opts = { ['--delimiter'] = ':', ['--with-nth'] = '4..', ['--no-sort'] = true },
  })
end

function pickers.snacks(items, title)
  local entries = {}
  for place, it in ipairs(items) do
    entries[place] = { idx = place, text = it.text, file = it.filename, pos = { it.lnum, 0 } }
  end
  require('snacks').picker.pick({
    title = title,
    items = entries,
    format = function(entry) return { { entry.text } } end,
    preview = 'file',
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

return setmetatable(M, {
  ---@param items perfline.Item[]
  ---@param title string
  __call = function(_, items, title) pickers[M.name()](items, title) end,
})
