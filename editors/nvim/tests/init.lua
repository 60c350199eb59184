-- What the tests start Neovim with: the plugin as somebody who has set nothing gets it.
vim.o.swapfile = false
vim.o.shadafile = 'NONE'
vim.o.number = true
vim.o.laststatus = 2
vim.o.termguicolors = true
vim.opt.runtimepath:prepend(vim.env.PERFLINE_PLUGIN)
vim.o.statusline = " %f %= %{v:lua.require'perfline'.statusline()} "

local check = vim.env.PERFLINE_CHECK
if check then
  -- After start-up: only then does Neovim go on as it does for a person.
  vim.api.nvim_create_autocmd('VimEnter', {
    callback = function()
      vim.schedule(function() dofile(check) end)
    end,
  })
end
