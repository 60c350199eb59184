-- What happens to a buffer that the server is attached to.
local config = require('perfline.config')

-- Fetches lenses before 0.12, where nothing else does.
---@param buf integer
local function old_lenses(buf)
  local group = vim.api.nvim_create_augroup('perfline.lenses.' .. buf, {})
  vim.api.nvim_create_autocmd({ 'BufEnter', 'InsertLeave', 'TextChanged' }, {
    group = group,
    buffer = buf,
    callback = function() vim.lsp.codelens.refresh({ bufnr = buf }) end,
  })
  vim.lsp.codelens.refresh({ bufnr = buf })
end

local M = {}

---@param client_id integer
function M.refresh_lenses(client_id)
  if not config.options.lenses then return end
  for _, buf in ipairs(vim.lsp.get_buffers_by_client_id(client_id)) do
    vim.lsp.codelens.refresh({ bufnr = buf })
  end
end

---@param client_id integer
---@param buf integer
function M.attach(client_id, buf)
  local client = vim.lsp.get_client_by_id(client_id)
  if not client or client.name ~= 'perfline' then return end
  require('perfline.colors').define()
  require('perfline.sources').attach(client)
  if config.options.hints then vim.lsp.inlay_hint.enable(true, { bufnr = buf }) end
  vim.api.nvim_create_autocmd('BufWinEnter', {
    group = vim.api.nvim_create_augroup('perfline.hints.' .. buf, {}),
    buffer = buf,
    callback = function() require('perfline.hints').on_shown(buf) end,
  })
  if config.options.lenses then
    if vim.lsp.codelens.enable then
      vim.lsp.codelens.enable(true, { bufnr = buf })
    else
      old_lenses(buf)
    end
  end
  require('perfline.heat').attach(client_id, buf)
end

return M
