-- Inlay hints after the server asked to have them fetched anew.
--
-- Neovim keeps which lines it has drawn by the version of the text, which is the same as before: 0.10 draws no line again, later ones
-- none that was drawn between question and answer (a statusline that changes is enough). Turning hints on once more forgets it.
local M = {}

---@param client_id integer
function M.refresh(client_id)
  local client = vim.lsp.get_client_by_id(client_id)
  for buf in pairs(client and client.attached_buffers or {}) do
    local filter = { bufnr = buf }
    if vim.lsp.inlay_hint.is_enabled(filter) then
      if vim.fn.has('nvim-0.11') == 0 then vim.lsp.inlay_hint.enable(false, filter) end -- keeps hints where there are none now
      vim.lsp.inlay_hint.enable(true, filter)
    end
  end
end

return M
