-- Hot lines, as lists: in a picker, in the quickfix list, and one after the other.
local client = require('perfline.client')
local format = require('perfline.format')

local M = {}

---@class perfline.Place a line, as the server reports it
---@field file string
---@field uri string?
---@field line integer? from 1; none if the line is gone
---@field recordedLine integer
---@field source string?
---@field stale boolean?
---@field function string
---@field evidence string
---@field value integer
---@field mark string stands before the number if it is not exactly that of the line
---@field text string
---@field shareText string

---@class perfline.Row what becomes an item
---@field cells string[] the cost, and what else there is to see
---@field what string
---@field uri string?
---@field line integer?
---@field cell perfline.Cell?

---@class perfline.Sum what the lines of a file or function cost together
---@field file string
---@field function string? none for the whole file
---@field lines integer
---@field shareText string

---@class perfline.Item what a picker shows and where it goes
---@field text string its columns, beside those of the other items
---@field cost string
---@field what string
---@field filename string?
---@field lnum integer
---@field cell perfline.Cell? of a place in a notebook file, whose lines are those of the cell

---@class perfline.Cell
---@field file string as the server calls it
---@field recordedLine integer

-- The end of a text, where it is too long: of a path and of a qualified name that is the part to know it by.
---@param text string
---@param width integer in columns of the screen
---@return string
local function ending(text, width)
  if vim.fn.strdisplaywidth(text) <= width then return text end
  local first = 0
  repeat
    first = first + 1
    local rest = vim.fn.strcharpart(text, first)
  until rest == '' or vim.fn.strdisplaywidth(rest) < width
  return '…' .. vim.fn.strcharpart(text, first)
end

-- Rows of cells as texts whose columns line up; the first cell is a number, and what is between it and the last one takes a
-- quarter of the screen at most, so that something of the last is seen.
---@param rows string[][]
---@return string[]
local function aligned(rows)
  local widest = math.max(math.floor(vim.o.columns / 4), 12)
  rows = vim.tbl_map(function(row)
    local cells = {}
    for column, cell in ipairs(row) do
      cells[column] = (column == 1 or column == #row) and cell or ending(cell, widest)
    end
    return cells
  end, rows)
  local widths = {}
  for _, row in ipairs(rows) do
    for column, cell in ipairs(row) do
      widths[column] = math.max(widths[column] or 0, vim.fn.strdisplaywidth(cell))
    end
  end
  return vim.tbl_map(function(row)
    local cells = {}
    for column, cell in ipairs(row) do
      local space = (' '):rep(widths[column] - vim.fn.strdisplaywidth(cell))
      cells[column] = column == 1 and space .. cell or column < #row and cell .. space or cell
    end
    return table.concat(cells, '  ')
  end, rows)
end

---@param rows perfline.Row[]
---@return perfline.Item[]
function M.items_of(rows)
  local texts = aligned(vim.tbl_map(function(row) return row.cells end, rows))
  local items = {}
  for number, row in ipairs(rows) do
    items[number] = {
      text = texts[number],
      cost = row.cells[1],
      what = row.what,
      filename = row.uri and vim.uri_to_fname(row.uri) or nil,
      -- Of a notebook file, the lines are not those of its text.
      lnum = not row.cell and row.line or 1,
      cell = row.cell,
    }
  end
  return items
end

-- The cell of a place in a notebook file that no buffer shows as text.
---@param place { file: string, uri: string?, recordedLine: integer }
---@return perfline.Cell?
function M.cell(place)
  if not (place.uri and place.uri:find('#cell=%d+$')) then return nil end
  return { file = place.file, recordedLine = place.recordedLine }
end

---@param places perfline.Place[]
---@return perfline.Item[]
function M.items(places)
  return M.items_of(vim.tbl_map(function(place)
    local name = ('%s:%d'):format(place.file, place.line or place.recordedLine)
    local source = place.source or (place.uri and '(gone)' or '(not here)')
    local what = ('%s: %s'):format(place['function'], source)
    return {
      cells = { format.line(place), name, place['function'], source },
      what = what,
      uri = place.uri,
      line = place.line,
      cell = M.cell(place),
    }
  end, places))
end

---@param items perfline.Item[]
---@param title string
function M.quickfix(items, title)
  local entries = {}
  for _, it in ipairs(items) do
    if it.filename then
      local place = it.cell and ('  line %d of %s'):format(it.cell.recordedLine, it.cell.file) or ''
      local text = ('%s%s  %s'):format(it.cost, place, it.what)
      entries[#entries + 1] = { filename = it.filename, lnum = it.lnum, col = 1, text = text }
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
---@param done fun(places: perfline.Place[], title: string, sums: perfline.Sum[])
local function ask(query, done)
  local argument = {
    limit = query.limit or require('perfline.pick').capacity(),
    metric = query.metric,
    firstLine = query.first,
    lastLine = query.last,
  }
  if query.first or query.here then argument.uri = vim.uri_from_bufnr(0) end
  if query.all then argument.ownOnly = false end
  client.ask('hotLines', argument, function(answer)
    if #answer.lines == 0 then
      client.say_nothing('it has nothing of this here')
      return
    end
    local view = answer.view
    local metric = query.metric or view.effectiveMetric
    done(
      answer.lines,
      ('Hot lines: %s, %s'):format(metric, view.step == 'mean' and 'mean step' or view.step),
      answer.sums
    )
  end)
end

---@param query perfline.HotQuery
---@param done fun(items: perfline.Item[], title: string)
function M.list(query, done)
  ask(query, function(places, title) done(M.items(places), title) end)
end

---@param query perfline.HotQuery
function M.pick(query) M.list(query, require('perfline.pick')) end

---@param query perfline.HotQuery
function M.to_quickfix(query) M.list(query, M.quickfix) end

-- Functions by what their lines cost: the sums of their own.
---@param query perfline.HotQuery
---@param done fun(items: perfline.Item[], title: string)
function M.list_functions(query, done)
  query.limit = 100000
  ask(query, function(places, title, sums)
    -- Places come with what costs most first.
    local hottest = {}
    for _, place in ipairs(places) do
      local key = place.file .. '\n' .. place['function']
      hottest[key] = hottest[key] or place
    end
    local rows = {}
    for _, sum in ipairs(sums) do
      local place = type(sum['function']) == 'string' and hottest[sum.file .. '\n' .. sum['function']]
      if place and #rows < require('perfline.pick').capacity() then
        local count = sum.lines == 1 and '1 line' or ('%d lines, hottest'):format(sum.lines)
        rows[#rows + 1] = {
          cells = { sum.shareText, place['function'], place.file, ('%s: %s'):format(count, place.source or '') },
          what = place['function'],
          uri = place.uri,
          line = place.line,
          cell = M.cell(place),
        }
      end
    end
    done(M.items_of(rows), (title:gsub('lines', 'functions', 1)))
  end)
end

---@param query perfline.HotQuery
function M.functions(query) M.list_functions(query, require('perfline.pick')) end

-- What a lens asks for.
---@param arguments any[]
function M.of_lens(arguments)
  local argument = arguments[1]
  if type(argument) ~= 'table' then
    argument = { limit = arguments[1], uri = arguments[2], firstLine = arguments[3], lastLine = arguments[4] }
  end
  client.ask(
    'hotLines',
    argument,
    function(answer) require('perfline.pick')(M.items(answer.lines), 'Hot lines here') end
  )
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
