-- The plugin runs on Neovim's LuaJIT; the length of lines is stylua's to decide.
std = 'luajit'
max_line_length = false
read_globals = {
  vim = {
    other_fields = true,
    fields = {
      o = { read_only = false, other_fields = true },
      bo = { read_only = false, other_fields = true },
      wo = { read_only = false, other_fields = true },
      b = { read_only = false, other_fields = true },
      g = { read_only = false, other_fields = true },
      opt = { read_only = false, other_fields = true },
    },
  },
}
-- The tests put functions of their own in place of Neovim's.
files['tests'] = { globals = { 'vim' } }
-- What a rockspec sets.
files['*.rockspec'] = { std = 'rockspec' }
