rockspec_format = '3.0'
package = 'perfline.nvim'
version = 'scm-1'
-- Of a checkout: `luarocks make`.
source = { url = 'git+file://.' }
description = {
  summary = 'PyTorch profiles on the lines that caused them',
  detailed = 'Hints, lenses, hovers, diagnostics and heat from torch.profiler traces and CUDA memory snapshots.',
  labels = { 'neovim', 'profiling', 'pytorch', 'lsp' },
  license = 'Apache-2.0 OR MIT',
}
dependencies = { 'lua >= 5.1' }
build = {
  type = 'builtin',
  modules = {
    perfline = 'lua/perfline/init.lua',
    ['perfline.attach'] = 'lua/perfline/attach.lua',
    ['perfline.client'] = 'lua/perfline/client.lua',
    ['perfline.colors'] = 'lua/perfline/colors.lua',
    ['perfline.command'] = 'lua/perfline/command.lua',
    ['perfline.config'] = 'lua/perfline/config.lua',
    ['perfline.details'] = 'lua/perfline/details.lua',
    ['perfline.findings'] = 'lua/perfline/findings.lua',
    ['perfline.format'] = 'lua/perfline/format.lua',
    ['perfline.health'] = 'lua/perfline/health.lua',
    ['perfline.heat'] = 'lua/perfline/heat.lua',
    ['perfline.hints'] = 'lua/perfline/hints.lua',
    ['perfline.hot'] = 'lua/perfline/hot.lua',
    ['perfline.pick'] = 'lua/perfline/pick.lua',
    ['perfline.project_file'] = 'lua/perfline/project_file.lua',
    ['perfline.recent'] = 'lua/perfline/recent.lua',
    ['perfline.record'] = 'lua/perfline/record.lua',
    ['perfline.report'] = 'lua/perfline/report.lua',
    ['perfline.sections'] = 'lua/perfline/sections.lua',
    ['perfline.sources'] = 'lua/perfline/sources.lua',
    ['telescope._extensions.perfline'] = 'lua/telescope/_extensions/perfline.lua',
  },
  copy_directories = { 'doc', 'lsp', 'plugin' },
}
