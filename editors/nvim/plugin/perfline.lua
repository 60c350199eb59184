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

for _, name in ipairs({
  'hot',
  'quickfix',
  'functions',
  'next',
  'prev',
  'details',
  'callers',
  'callees',
  'relative',
  'format',
  'heat',
}) do
  vim.keymap.set({ 'n', 'x' }, '<Plug>(perfline-' .. name .. ')', function() require('perfline.command').map(name) end)
end
