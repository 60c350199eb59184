-- Loaded at start-up, so it loads nothing itself: a command, maps, and what waits for the first Python file or notebook.
if vim.g.loaded_perfline then return end
vim.g.loaded_perfline = true

local group = vim.api.nvim_create_augroup('perfline', {})
vim.api.nvim_create_autocmd('FileType', {
  group = group,
  pattern = { 'python', 'markdown', 'quarto' },
  callback = function(event) require('perfline.client').autostart(event.buf) end,
})
vim.api.nvim_create_autocmd('LspAttach', {
  group = group,
  callback = function(event) require('perfline.attach').attach(event.data.client_id, event.buf) end,
})

vim.api.nvim_create_user_command('Perfline', function(arguments) require('perfline.command').run(arguments) end, {
  nargs = '*',
  range = true,
  bang = true,
  complete = function(lead, line) return require('perfline.command').complete(lead, line) end,
  desc = 'PyTorch profiles on the lines that caused them',
})

-- What which-key and the like say of the maps.
local maps = {
  hot = 'Hot lines',
  quickfix = 'Hot lines in the quickfix list',
  functions = 'Hot functions',
  findings = 'Findings',
  explain = 'Explain the finding on this line',
  next = 'Next hot line',
  prev = 'Previous hot line',
  details = 'What this line costs',
  callers = 'Callers of this line',
  callees = 'What this line calls',
  generated = 'What torch.compile made of this line',
  relative = 'What heat is relative to',
  format = 'How numbers are written',
  heat = 'Heat on or off',
}
for name, desc in pairs(maps) do
  local function call() require('perfline.command').map(name) end
  vim.keymap.set({ 'n', 'x' }, '<Plug>(perfline-' .. name .. ')', call, { desc = 'Perfline: ' .. desc })
end
