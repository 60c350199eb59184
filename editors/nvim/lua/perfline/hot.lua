-- Hot lines, as lists: in a picker, in the quickfix list, and one after the other.
local client = require('perfline.client')
local format = require('perfline.format')

local M = {}

---@class perfline.Place a line, as the server tells of it
---@field file string
---@field uri string?
---@field line integer? from 1; none if the line is gone
---@field recordedLine integer
---@field source string?
---@field stale boolean?
---@field function string
---@field evidence string
---@field value integer
---@field share number
---@field text string

---@class perfline.Item what a picker shows and where it goes
---@field text string
---@field cost string
---@field filename string?
---@field lnum integer

---@param place perfline.Place
---@return perfline.Item
local function item(place)
  local cost = format.line(place)
  local name = ('%s:%d'):format(place.file, place.line or place.recordedLine)
  local source = place.source or (place.line and '' or '(gone)')
  return {
    text = ('%18s  %-28s %-24s %s'):format(cost, name, place['function'], source),
    cost = cost,
    what = ('%s: %s'):format(place['function'], source),
    filename = place.uri and vim.uri_to_fname(place.uri) or nil,
    lnum = place.line or 1,
  }
end

---@param places perfline.Place[]
---@return perfline.Item[]
function M.items(places) return vim.tbl_map(item, places) end

---@param items perfline.Item[]
---@param title string
function M.quickfix(items, title)
  local entries = {}
  for _, it in ipairs(items) do
    if it.filename then
      entries[#entries + 1] = { filename = it.filename, lnum = it.lnum, col = 1, text = ('%s  %s'):format(it.cost, it.what) }
    end
  end
  vim.fn.setqflist({}, ' ', { title = title, items = entries })
  vim.cmd('botright copen')
end

---@class perfline.HotQuery
---@field metric string?
---@field first integer? from 1
---@field last integer?
---@field here boolean? this file only
---@field all boolean? library files too
---@field limit integer?

---@param query perfline.HotQuery
---@param done fun(places: perfline.Place[], title: string)
local function ask(query, done)
  local argument = { limit = query.limit or 100, metric = query.metric, firstLine = query.first, lastLine = query.last }
  if query.first or query.here then argument.uri = vim.uri_from_bufnr(0) end
  if query.all then argument.ownOnly = false end
  client.ask('hotLines', argument, function(answer)
    if #answer.lines == 0 then
      client.say('nothing to show: no recording is loaded, or it has nothing of this here')
      return
    end
    local view = answer.view
    local metric = query.metric or view.effectiveMetric
    done(answer.lines, ('Hot lines: %s, %s'):format(metric, view.step == 'mean' and 'mean step' or view.step))
  end)
end

---@param query perfline.HotQuery
function M.pick(query)
  ask(query, function(places, title) require('perfline.pick')(M.items(places), title) end)
end

---@param query perfline.HotQuery
function M.to_quickfix(query)
  ask(query, function(places, title) M.quickfix(M.items(places), title) end)
end

-- Functions by what their lines cost: the sums of their own.
---@param query perfline.HotQuery
function M.functions(query)
  query.limit = 100000
  ask(query, function(places, title)
    local sums, order = {}, {}
    for _, place in ipairs(places) do
      local key = place.file .. '\n' .. place['function']
      if not sums[key] then
        sums[key] = { place = place, share = 0, lines = 0 }
        order[#order + 1] = sums[key]
      end
      sums[key].share = sums[key].share + place.share
      sums[key].lines = sums[key].lines + 1
    end
    table.sort(order, function(a, b) return a.share > b.share end)
    local items = {}
    for _, sum in ipairs(order) do
      local place = sum.place
      local cost = ('%.1f %%'):format(sum.share * 100)
      items[#items + 1] = {
        text = ('%8s  %-32s %-20s %d lines, hottest: %s'):format(cost, place['function'], place.file, sum.lines, place.source or ''),
        cost = cost,
        what = place['function'],
        filename = place.uri and vim.uri_to_fname(place.uri) or nil,
        lnum = place.line or 1,
      }
    end
    require('perfline.pick')(items, title:gsub('lines', 'functions', 1))
  end)
end

-- What a lens asks for.
---@param arguments any[]
function M.of_lens(arguments)
  local argument = arguments[1]
  if type(argument) ~= 'table' then
    argument = { limit = arguments[1], uri = arguments[2], firstLine = arguments[3], lastLine = arguments[4] }
  end
  client.ask('hotLines', argument, function(answer) require('perfline.pick')(M.items(answer.lines), 'Hot lines here') end)
end

-- To the next (1) or previous (-1) line of this buffer that costs something, `count` times, around the end.
---@param direction 1|-1
---@param count integer
function M.jump(direction, count)
  client.ask('heat', { uri = vim.uri_from_bufnr(0), scope = 'step' }, function(heat)
    local lines = heat.lines
    if #lines == 0 then
      client.say('nothing costs anything here')
      return
    end
    local here = vim.api.nvim_win_get_cursor(0)[1]
    local before = 0 -- how many lines are above the cursor, or under it
    for _, it in ipairs(lines) do
      if it.line < here or (direction > 0 and it.line == here) then before = before + 1 end
    end
    local place = (direction > 0 and before + count - 1 or before - count) % #lines + 1
    local target = lines[place]
    vim.cmd("normal! m'")
    vim.api.nvim_win_set_cursor(0, { target.line, 0 })
    vim.cmd('normal! ^zv')
    vim.api.nvim_echo({ { ('%d of %d  '):format(place, #lines), 'Comment' }, { format.line(target) } }, false, {})
  end)
end

return M
