-- What a configuration calls.
local M = {}

-- Sets options. Not needed for the defaults; call it before the first Python file is opened.
---@param options? perfline.Options any of them
function M.setup(options) require('perfline.config').set(options or {}) end

-- For a statusline: what is shown, or that it is being loaded; empty in buffers without the server.
---@param buf integer?
---@return string
function M.statusline(buf)
  buf = buf or vim.api.nvim_get_current_buf()
  if #vim.lsp.get_clients({ name = 'perfline', bufnr = buf }) == 0 then return '' end
  local status = require('perfline.client').status(buf)
  if not status then return '' end
  if status.loading and not status.soFar then return 'perfline: loading…' end
  if not status.loaded then return '' end
  return ('%s · %s'):format(status.view.effectiveMetric, status.summary)
end

-- What the server reported last of a buffer's project.
---@param buf integer?
---@return perfline.Status?
function M.status(buf) return require('perfline.client').status(buf) end

return M
