-- The report of what is loaded, in a window; `gF` on a place goes there.
local client = require('perfline.client')

local M = {}

function M.show()
  local server = client.get()
  client.ask('report', { text = true }, function(report)
    if not (report and report.text) then return client.say('no recording is loaded', vim.log.levels.WARN) end
    vim.cmd('botright new')
    local buf = vim.api.nvim_get_current_buf()
    vim.api.nvim_buf_set_lines(buf, 0, -1, false, vim.split(vim.trim(report.text), '\n'))
    vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile = 'nofile', 'wipe', false
    vim.bo[buf].modifiable, vim.bo[buf].filetype = false, 'perfline-report'
    vim.bo[buf].path = server and server.config.root_dir or vim.uv.cwd()
    vim.wo.wrap = false
    vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = buf, desc = 'Close the report' })
  end)
end

return M
