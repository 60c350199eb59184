-- Answers to Neovim's questions for inlay hints.
--
-- Neovim keeps which lines it has drawn by the version of the text. A recording changes hints and not the text: a line that was drawn
-- before the answer came, however shortly, keeps its old hint. Turning hints on once more makes Neovim forget what it has drawn (and
-- ask again; that answer is the same, and all is quiet).
--
-- It also asks only for buffers in windows: those that were hidden when numbers changed are asked for when they are shown again.
local M = {}

-- The last answer for each buffer.
---@type table<integer, { version: integer, hints: lsp.InlayHint[] }>
local answers = {}

---@type lsp.Handler
function M.on_answer(failure, hints, context)
  -- A server that is being stopped refuses what it was asked before; Neovim would report that.
  if failure and failure.code == vim.lsp.protocol.ErrorCodes.InvalidRequest then return end
  local buf, version = context.bufnr, context.version
  hints = hints ~= vim.NIL and hints or {} -- 0.10 takes no answer for no change
  if buf and not failure then
    local last = answers[buf]
    answers[buf] = { version = version, hints = hints }
    local filter = { bufnr = buf }
    local other = not last or last.version == version and not vim.deep_equal(last.hints, hints)
    if other and vim.lsp.inlay_hint.is_enabled(filter) then vim.lsp.inlay_hint.enable(true, filter) end
  end
  -- A copy: Neovim counts the columns in it anew.
  return vim.lsp.handlers['textDocument/inlayHint'](failure, vim.deepcopy(hints), context)
end

-- Buffers whose hints are old.
---@type table<integer, true>
local hidden = {}

-- Numbers of these buffers may have changed.
---@param bufs integer[]
function M.on_change(bufs)
  for _, buf in ipairs(bufs) do
    if #vim.fn.win_findbuf(buf) == 0 then hidden[buf] = true end
  end
end

---@param buf integer
function M.on_shown(buf)
  if hidden[buf] and vim.lsp.inlay_hint.is_enabled({ bufnr = buf }) then
    vim.lsp.inlay_hint.enable(true, { bufnr = buf })
  end
  hidden[buf] = nil
end

---@param buf integer
function M.forget(buf)
  answers[buf] = nil
  hidden[buf] = nil
end

return M
