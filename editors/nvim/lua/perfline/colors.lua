-- The colours of heat, from the colour scheme: its own warm and cold colours, laid over its own background.
local config = require('perfline.config')

local M = {}

local LEVELS = 16
local BARS = { '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█' }

---@param heat number 0 to 1
---@return integer level from 1
function M.level(heat) return math.max(1, math.min(LEVELS, math.ceil(heat * LEVELS))) end

---@param heat number 0 to 1
---@return string
function M.bar(heat) return BARS[math.max(1, math.min(#BARS, math.ceil(heat * #BARS)))] end

---@param name string
---@param side 'fg'|'bg'
---@return integer?
local function color(name, side) return vim.api.nvim_get_hl(0, { name = name, link = false })[side] end

---@param from integer
---@param to integer
---@param share number of `to`
---@return integer
local function blend(from, to, share)
  local mixed = 0
  for _, unit in ipairs({ 0x10000, 0x100, 1 }) do
    local a, b = math.floor(from / unit) % 256, math.floor(to / unit) % 256
    mixed = mixed + unit * math.floor(a + (b - a) * share + 0.5)
  end
  return mixed
end

-- The nearest colour of a terminal's 6 × 6 × 6 cube.
---@param rgb integer
---@return integer
local function terminal(rgb)
  local function part(unit)
    local value = math.floor(rgb / unit) % 256
    return value < 48 and 0 or value < 115 and 1 or math.floor((value - 35) / 40)
  end
  return 16 + 36 * part(0x10000) + 6 * part(0x100) + part(1)
end

---@param stops integer[]
---@param place number 0 to 1
local function along(stops, place)
  local at = place * (#stops - 1)
  local first = math.min(math.floor(at), #stops - 2)
  return blend(stops[first + 1], stops[first + 2] or stops[first + 1], at - first)
end

local defined

-- Where a colour scheme says nothing about hints and lenses, Neovim draws them like the fill of empty lines, which cannot be read on
-- a coloured line. Like comments they can.
local function readable()
  for _, name in ipairs({ 'LspInlayHint', 'LspCodeLens' }) do
    if vim.api.nvim_get_hl(0, { name = name }).link == 'NonText' then
      vim.api.nvim_set_hl(0, name, { link = 'Comment' })
    end
  end
end

-- Defines `PerflineLine1` … `16` (backgrounds) and `PerflineText1` … `16` (foregrounds), unless a colour scheme has.
function M.define()
  if defined then return end
  defined = true
  readable()
  local dark = vim.o.background == 'dark'
  local back = color('Normal', 'bg') or (dark and 0x14161b or 0xe0e2ea)
  local stops = {}
  for _, name in ipairs(config.options.heat.colors) do
    stops[#stops + 1] = color(name, 'fg') or color(name, 'bg')
  end
  if #stops == 0 then stops = { color('Normal', 'fg') or (dark and 0xe0e2ea or 0x14161b) } end
  for level = 1, LEVELS do
    local heat = level / LEVELS
    local hue = #stops > 1 and along(stops, heat) or stops[1]
    local line, text = blend(back, hue, heat * config.options.heat.strength), blend(back, hue, 0.4 + 0.6 * heat)
    vim.api.nvim_set_hl(0, 'PerflineLine' .. level, { bg = line, ctermbg = terminal(line), default = true })
    vim.api.nvim_set_hl(0, 'PerflineText' .. level, { fg = text, ctermfg = terminal(text), default = true })
  end
end

vim.api.nvim_create_autocmd('ColorScheme', {
  group = vim.api.nvim_create_augroup('perfline.colors', {}),
  callback = function()
    defined = false
    M.define()
  end,
})

return M
