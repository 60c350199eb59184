-- `:checkhealth perfline`
local M = {}

local function program()
  local config = require('perfline.config')
  local name = config.options.cmd[1]
  local path = vim.fn.exepath(name)
  if path == '' then
    vim.health.error(('`%s` is no program'):format(name), {
      'Install it: `cargo install --path server` in a clone of Perfline',
      "or name it: require('perfline').setup{ cmd = { '/path/to/perfline', 'lsp' } }",
    })
    return
  end
  local done = vim.system({ path, '--version' }, { text = true }):wait(5000)
  if done.code == 0 then
    vim.health.ok(('%s: %s'):format(path, vim.trim(done.stdout)))
  else
    vim.health.error(('%s does not start: %s'):format(path, vim.trim(done.stderr or '')))
  end
end

---@param status perfline.Status
local function recording(status)
  if status.loading then vim.health.info('A recording is being loaded') end
  for _, failure in ipairs(status.failures) do
    vim.health.warn(failure)
  end
  if not status.loaded then
    vim.health.warn(
      'No recording is loaded',
      { 'Record one with `with_stack=True` into the project', ':Perfline load FILE' }
    )
    return
  end
  vim.health.ok(status.summary)
  for _, input in ipairs(status.inputs) do
    local kind = ('%s (%s, %d events)'):format(input.path, input.kind, input.events)
    if input.complete then
      vim.health.info(kind)
    else
      vim.health.warn(kind .. ' is not complete')
    end
    for _, warning in ipairs(input.warnings or {}) do
      vim.health.warn(warning)
    end
  end
  vim.health.info(
    ('On lines: %s of thread time, %s of CUDA time'):format(
      status.attributedText.cpu or 'none',
      status.attributedText.cuda or 'none'
    )
  )
end

---@param status perfline.Status
local function evidence(status)
  local lines = status.evidence
  vim.health.info(
    ('%d lines exact, %d inferred, %d known by their function only'):format(
      lines.exact,
      lines.inferred,
      lines['function']
    )
  )
  if lines['function'] > lines.exact + lines.inferred then
    vim.health.warn(
      'Most lines are not known',
      { 'Open the folder that the code ran in, or record with torch 2.14 or later' }
    )
  end
  local sources = status.sources
  vim.health.info(
    ('%d files found, %d edited since the recording, %d not found'):format(
      sources.found,
      sources.edited,
      sources.missing
    )
  )
  if sources.missing > 0 then
    vim.health.warn('Source files were not found', { ':Perfline locate asks for their folder' })
  end
  if sources.ambiguous > 0 then
    vim.health.warn(
      ('%d source files are there more than once'):format(sources.ambiguous),
      { ':Perfline sources asks which ones were recorded' }
    )
  end
  if #status.sitePackages > 0 then
    vim.health.ok('Library code: ' .. table.concat(status.sitePackages, ', '))
  else
    vim.health.info(
      'No Python environment was found: lines of library code are not looked up. Activate one, or set `python.sitePackages`'
    )
  end
end

function M.check()
  vim.health.start('perfline: the program')
  if vim.fn.has('nvim-0.10') == 0 then vim.health.error('Neovim 0.10 or later is needed') end
  program()

  vim.health.start('perfline: the server')
  local clients = vim.lsp.get_clients({ name = 'perfline' })
  if #clients == 0 then vim.health.info('Not running: it starts with the first Python file') end
  for _, client in ipairs(clients) do
    vim.health.ok(('Running for %s, %d buffers'):format(client.config.root_dir, vim.tbl_count(client.attached_buffers)))
    local status
    require('perfline.client').ask('status', {}, function(answer) status = answer end, next(client.attached_buffers))
    if vim.wait(5000, function() return status end, 10) then
      vim.health.start('perfline: the recording')
      recording(status)
      vim.health.start('perfline: lines and their evidence')
      evidence(status)
    else
      vim.health.error('It does not answer', { ':Perfline stop, then :Perfline start' })
    end
  end

  vim.health.start('perfline: lists')
  vim.health.info('They open in ' .. require('perfline.pick').name())
end

return M
