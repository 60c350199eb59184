-- `perfline report` of what is loaded, in a window; `gF` on a place goes there.
local client = require('perfline.client')
local config = require('perfline.config')

local M = {}

function M.show()
  local status, server = client.status(), client.get()
  if not (status and status.loaded and server) then return client.say('no recording is loaded', vim.log.levels.WARN) end
  local root = server.config.root_dir or vim.uv.cwd()
  local command = { config.options.cmd[1], 'report' }
  for _, input in ipairs(status.inputs) do
    -- A side-car is found beside its trace.
    if input.kind ~= 'callers' then command[#command + 1] = input.path end
  end
  vim.list_extend(command, { '--root', root })
  for _, site in ipairs(status.sitePackages) do
    vim.list_extend(command, { '--site', site })
  end
  vim.system(
    command,
    { text = true, cwd = root },
    vim.schedule_wrap(function(done)
      if done.stdout == '' then return client.say(vim.trim(done.stderr), vim.log.levels.ERROR) end
      vim.cmd('botright new')
      local buf = vim.api.nvim_get_current_buf()
      vim.api.nvim_buf_set_lines(buf, 0, -1, false, vim.split(vim.trim(done.stdout), '\n'))
      vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile = 'nofile', 'wipe', false
      vim.bo[buf].modifiable, vim.bo[buf].filetype, vim.bo[buf].path = false, 'perfline-report', root
      vim.wo.wrap = false
      vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = buf, desc = 'Close the report' })
    end)
  )
end

return M
