-- Everything that is known of a line, in a floating window; and who calls it, and whom it calls, as lists.
local client = require('perfline.client')
local config = require('perfline.config')
local hot = require('perfline.hot')

local M = {}

local namespace = vim.api.nvim_create_namespace('perfline.details')

-- Of a line, or of that under the cursor.
---@param argument { uri: string?, line: integer?, metric: string? }
---@param done fun(details: table)
local function ask(argument, done)
  argument.uri = argument.uri or vim.uri_from_bufnr(0)
  argument.line = argument.line or vim.api.nvim_win_get_cursor(0)[1]
  client.ask('details', argument, function(details)
    if details then
      done(details)
    else
      client.say('nothing is known of this line')
    end
  end)
end

---@param metric string?
function M.show(metric)
  local here, line = vim.api.nvim_get_current_buf(), vim.api.nvim_win_get_cursor(0)[1]
  ask({ metric = metric }, function(details)
    -- A user who has gone on wants no window over the text.
    if vim.api.nvim_get_current_buf() ~= here or vim.api.nvim_win_get_cursor(0)[1] ~= line then return end
    local lines, marks = require('perfline.sections').lines(details.sections, math.min(vim.o.columns - 8, 100))
    lines = vim.tbl_map(function(it) return ' ' .. it .. ' ' end, lines)
    local buf = vim.lsp.util.open_floating_preview(lines, '', {
      border = config.options.border,
      title = ' perfline ',
      focus_id = 'perfline.details',
      wrap = false,
      max_height = math.floor(vim.o.lines * 0.5),
    })
    for _, mark in ipairs(marks) do
      vim.api.nvim_buf_set_extmark(
        buf,
        namespace,
        mark.row,
        mark.first + 1,
        { end_col = mark.last + 1, hl_group = mark.group }
      )
    end
  end)
end

---@param line { uri: string, line: integer }? that of the cursor without
function M.callers(line)
  ask(line or {}, function(details)
    if #details.callers == 0 then return client.say('no caller of this line was recorded') end
    require('perfline.pick')(hot.items(details.callers), 'Callers')
  end)
end

-- What torch.compile made of the line under the cursor.
function M.generated()
  ask({}, function(details)
    if #details.generated == 0 then
      return client.say('torch.compile made nothing of this line, or nothing says what')
    end
    require('perfline.pick')(hot.items(details.generated), 'Generated code')
  end)
end

---@param line { uri: string, line: integer }? that of the cursor without
function M.callees(line)
  ask(line or {}, function(details)
    if #details.callees == 0 then return client.say('this line calls nothing that was recorded') end
    local items = hot.items_of(vim.tbl_map(function(callee)
      -- Where it begins; of a built-in, this line.
      local place = callee.place and callee.place.uri and callee.place or details.place
      return {
        cells = { callee.text, callee.name },
        what = callee.name,
        uri = place.uri,
        line = place.line,
        cell = hot.cell(place),
      }
    end, details.callees))
    require('perfline.pick')(items, 'Callees')
  end)
end

return M
