-- What the rules found, in the quickfix list; the page of a rule in a floating window.
local client = require('perfline.client')

local M = {}

---@class perfline.Finding what a rule found on a line
---@field file string
---@field uri string?
---@field line integer? from 1; none if the line is gone
---@field recordedLine integer
---@field rule string
---@field text string? what can be won
---@field severity 'error'|'warning'|'information'|'hint'
---@field message string
---@field remedy string

local TYPES = { error = 'E', warning = 'W', information = 'I', hint = 'N' }

-- Lists the findings of every severity, the costliest first. Those of files that are not here have no place to go to.
function M.to_quickfix()
  client.ask('findings', {}, function(answer)
    if #answer.findings == 0 then
      client.say_nothing('the rules found nothing in it')
      return
    end
    local entries = vim.tbl_map(
      function(it)
        return {
          filename = it.uri and vim.uri_to_fname(it.uri) or nil,
          lnum = it.line or it.recordedLine,
          col = 1,
          type = TYPES[it.severity],
          text = ('%s. %s'):format(it.message, it.remedy),
        }
      end,
      answer.findings
    )
    vim.fn.setqflist({}, ' ', { title = 'Findings, by what can be won', items = entries })
    vim.cmd('botright copen')
  end)
end

-- The same as items of a picker.
---@param done fun(items: perfline.Item[], title: string)
function M.items(done)
  client.ask('findings', {}, function(answer)
    if #answer.findings == 0 then return client.say_nothing('the rules found nothing in it') end
    local rows = vim.tbl_map(
      function(it)
        return {
          cells = {
            it.text or '',
            ('%s:%d'):format(it.file, it.line or it.recordedLine),
            ('%s. %s'):format(it.message, it.remedy),
          },
          what = it.message,
          uri = it.uri,
          line = it.line,
          cell = require('perfline.hot').cell(it),
        }
      end,
      answer.findings
    )
    done(require('perfline.hot').items_of(rows), 'Findings, by what can be won')
  end)
end

-- Calls `done` with the rules that found something: on a line, or anywhere.
---@param uri string?
---@param line integer?
---@param done fun(rules: string[])
local function rules(uri, line, done)
  client.ask('findings', {}, function(answer)
    local found, known = {}, {}
    for _, it in ipairs(answer.findings) do
      local is_asked = not uri or it.uri == uri and it.line == line
      if is_asked and not known[it.rule] then
        known[it.rule] = true
        found[#found + 1] = it.rule
      end
    end
    done(found)
  end)
end

-- Shows the page of the rule that found something on the line under the cursor; of several, lets the user choose.
function M.explain_here()
  local uri, line = vim.uri_from_bufnr(0), vim.api.nvim_win_get_cursor(0)[1]
  rules(uri, line, function(found)
    if #found == 1 then return M.explain(found[1]) end
    if #found == 0 then return client.say('no rule found anything on this line') end
    vim.ui.select(found, { prompt = 'Rule' }, function(it)
      if it then M.explain(it) end
    end)
  end)
end

-- The rules that found something, for completion.
---@return string[]
function M.rules()
  local found
  rules(nil, nil, function(it) found = it end)
  vim.wait(1000, function() return found ~= nil end, 10)
  return found or {}
end

-- Shows the page of a rule.
---@param rule string
function M.explain(rule)
  client.ask(
    'explain',
    { rule = rule },
    function(page)
      vim.lsp.util.open_floating_preview(vim.split(page.markdown, '\n'), 'markdown', { focus_id = 'perfline.rule' })
    end
  )
end

return M
