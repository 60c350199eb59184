-- What the rules found, in the quickfix list; the page of a rule in a floating window.
local client = require('perfline.client')

local M = {}

---@class perfline.Finding what a rule found on a line
---@field file string
---@field uri string?
---@field line integer? from 1; none if the line is gone
---@field recordedLine integer
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
