-- The report of what is loaded, and what holds device memory, in a window; `gF` on a place goes there.
local client = require('perfline.client')
local config = require('perfline.config')

local M = {}

---@param text string
---@param root string?
local function open(text, root)
  vim.cmd('botright new')
  local buf = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, vim.split(vim.trim(text), '\n'))
  vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile = 'nofile', 'wipe', false
  vim.bo[buf].modifiable, vim.bo[buf].filetype = false, 'perfline-report'
  vim.bo[buf].path = root or vim.uv.cwd()
  vim.wo.wrap = false
  vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = buf, desc = 'Close the report' })
end

-- What `perfline memory` prints of the recording that is loaded.
function M.memory()
  local server, status = client.get(), client.status()
  if not (server and status and status.loaded) then return client.say('no recording is loaded', vim.log.levels.WARN) end
  local root = server.config.root_dir
  -- The program, without the word that makes it the server.
  local command = vim.list_slice(config.options.cmd, 1, #config.options.cmd - 1)
  vim.list_extend(command, { 'memory', '--root', root or '.' })
  vim.list_extend(command, vim.tbl_map(function(it) return it.path end, status.inputs))
  vim.system(command, { text = true, cwd = root, env = { NO_COLOR = '1' } }, function(done)
    vim.schedule(function()
      if done.stdout ~= '' then return open(done.stdout, root) end
      client.say(vim.trim(done.stderr), vim.log.levels.WARN)
    end)
  end)
end

function M.show()
  local server = client.get()
  client.ask('report', { text = true }, function(report)
    if not (report and report.text) then return client.say('no recording is loaded', vim.log.levels.WARN) end
    open(report.text, server and server.config.root_dir)
  end)
end

return M
