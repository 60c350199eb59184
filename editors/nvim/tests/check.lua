-- The plugin on a real recording, without a screen. Exits 0 if everything holds; the server's process id goes to $PERFLINE_PID.
local failures = 0

---@param name string
---@param good any
---@param detail any?
local function ok(name, good, detail)
  if not good then failures = failures + 1 end
  if type(detail) == 'function' then detail = not good and detail() or nil end
  local shown = detail ~= nil and not good and '  ' .. (type(detail) == 'string' and detail or vim.inspect(detail))
    or ''
  io.stdout:write((good and 'ok   ' or 'FAIL ') .. name .. shown .. '\n')
end

-- Waits until `condition` holds, and returns what it gave.
local function wait(condition)
  local value
  vim.wait(tonumber(vim.env.PERFLINE_PATIENCE or 20000), function()
    local good
    good, value = pcall(condition)
    value = good and value
    return value
  end, 10)
  return value
end

local buf

local function line_of(text)
  for place, line in ipairs(vim.api.nvim_buf_get_lines(buf, 0, -1, false)) do
    if line:find(text, 1, true) then return place end
  end
  error('no line has ' .. text)
end

-- The hint of a line as it is drawn, for which it has to be in the window.
local function hint(text)
  local place, cursor = line_of(text), vim.api.nvim_win_get_cursor(0)
  vim.api.nvim_win_set_cursor(0, { place, 0 })
  vim.cmd('redraw!')
  vim.api.nvim_win_set_cursor(0, cursor)
  local namespace = vim.api.nvim_get_namespaces()['nvim.lsp.inlayhint']
    or vim.api.nvim_get_namespaces()['vim_lsp_inlayhint']
  local shown
  for _, mark in
    ipairs(vim.api.nvim_buf_get_extmarks(buf, namespace, { place - 1, 0 }, { place - 1, -1 }, { details = true }))
  do
    for _, chunk in ipairs(mark[4].virt_text or {}) do
      shown = (shown or '') .. chunk[1]
    end
  end
  return shown
end

-- The hints of the lines that the tests look at.
local function hints()
  return {
    linear = hint('torch.relu(layer(x))'),
    item = hint('x.max().item()'),
    backward = hint('loss.backward()'),
    step = hint('opt.step()'),
  }
end

-- The heat marks by line.
local function heat()
  local marks = {}
  local namespace = vim.api.nvim_get_namespaces()['perfline.heat']
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, namespace, 0, -1, { details = true })) do
    if not mark[4].invalid then marks[mark[2] + 1] = mark[4] end
  end
  return marks
end

local function float()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= '' then
      return table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false), '\n'), window
    end
  end
end

local function close_float()
  local _, window = float()
  if window then vim.api.nvim_win_close(window, true) end
end

local function at(text)
  vim.api.nvim_win_set_cursor(0, {
    line_of(text),
    assert(vim.api.nvim_buf_get_lines(buf, line_of(text) - 1, line_of(text), false)[1]:find(text, 1, true)) - 1,
  })
end
local function here() return vim.api.nvim_win_get_cursor(0)[1] end
local function status() return require('perfline').status(buf) end

-- Whether a line is said to wait for the device.
local function waits(text)
  for _, it in ipairs(vim.diagnostic.get(buf)) do
    if it.code == 'sync' and it.source == 'perfline' and it.lnum + 1 == line_of(text) then return true end
  end
  return false
end
local function diagnostics()
  return vim.tbl_map(
    function(it) return ('%d %s %s'):format(it.lnum + 1, it.code, it.message) end,
    vim.diagnostic.get(buf)
  )
end

-- What was said last, and all that was.
local said, heard = '', {}
vim.notify = function(message)
  said = message
  heard[#heard + 1] = message
end

-- What is offered in lists; `choose` picks.
local offered, choose
vim.ui.select = function(items, options, done)
  offered = vim.tbl_map(options.format_item or tostring, items)
  if choose then done(items[choose]) end
end

-- Lines in a text as the tests name them: by what stands on them.
local ITEM, LINEAR, BACKWARD, STEP = 'x.max().item()', 'torch.relu(layer(x))', 'loss.backward()', 'opt.step()'

-- What stands at ITEM while nothing is edited and nothing else is chosen.
local usual

local tests = {}
local function test(name, run) tests[#tests + 1] = { name = name, run = run } end

test('start', function()
  ok(
    'the server is attached',
    wait(function() return #vim.lsp.get_clients({ bufnr = buf, name = 'perfline' }) == 1 end)
  )
  local client = vim.lsp.get_clients({ bufnr = buf, name = 'perfline' })[1]
  ok('its root is the project', client.config.root_dir == vim.fn.getcwd(), client.config.root_dir)
  ok('the recording is loaded', wait(function() return status().loaded end), status())
  ok(
    'recordings are remembered',
    wait(function() return require('perfline.recent').list()[1][1]:find('slow_model.json.gz', 1, true) end)
  )
  vim.fn.writefile(vim.tbl_map(tostring, vim.api.nvim_get_proc_children(vim.fn.getpid())), vim.env.PERFLINE_PID)
end)

test('hints', function()
  ok('a wait', wait(function() return hint(ITEM):find('wait', 1, true) end), hints)
  usual = hint(ITEM)
  ok('backward time', hint(LINEAR):find('gpu +', 1, true) and hint(LINEAR):find('bwd', 1, true), hints)
  ok('none where there is nothing', not hint('residual = x') and not hint('import torch'), hints)
end)

test('lenses', function()
  local function lenses()
    return vim.tbl_map(
      function(it) return it.lens or it end,
      vim.lsp.codelens.get(vim.fn.has('nvim-0.12') == 1 and { bufnr = buf } or buf)
    )
  end
  ok(
    'a lens on the function',
    wait(function()
      for _, lens in ipairs(lenses()) do
        if lens.range.start.line + 1 == line_of('def train_step') then
          return lens.command.title:find('of the step', 1, true)
        end
      end
    end),
    lenses()
  )
  vim.api.nvim_win_set_cursor(0, { line_of('def train_step'), 0 })
  vim.lsp.codelens.run()
  ok('running it lists its lines', wait(function() return offered[1]:find(BACKWARD, 1, true) end), offered)
end)

test('hover', function()
  at(LINEAR)
  vim.lsp.buf.hover()
  ok('names the kernels', wait(function() return float():find('sgemm', 1, true) end), float())
  ok('without marks', not float():find('[\\*`|]'), float())
  local columns = {}
  for line in float():gmatch('[^\n]+') do
    local before = line:match('^(kernel.-) +calls')
      or line:match('^(ampere_sgemm.-) +%d+ ')
      or line:match('^(%S*sgemm%S*) ')
    if before then
      columns[#columns + 1] = line:match('^kernel') and vim.fn.strdisplaywidth(line:match('^.-calls'))
        or vim.fn.strdisplaywidth(line:match('^%S+ +%d+'))
    end
  end
  ok('in columns', #columns > 1 and columns[1] == columns[2], float())
  close_float()
end)

test('diagnostics', function()
  ok('a wait is one', wait(function() return waits(ITEM) end), diagnostics)
end)

test('code action', function()
  at(ITEM)
  vim.lsp.buf.code_action({
    apply = true,
    filter = function(it) return it.title:find('^Ignore') ~= nil and it.title:find('sync', 1, true) ~= nil end,
  })
  ok(
    'is applied',
    wait(function() return vim.api.nvim_get_current_line():find('# perfline: ignore[sync]', 1, true) end),
    vim.api.nvim_get_current_line()
  )
  ok('ends the diagnostic', wait(function() return not waits(ITEM) end), diagnostics)
  vim.cmd('silent undo')
  ok('undone, it is back', wait(function() return waits(ITEM) end), diagnostics)
end)

test('heat', function()
  ok('hot lines are marked', wait(function() return heat()[line_of(BACKWARD)] end), heat())
  local function level(text) return tonumber(heat()[line_of(text)].line_hl_group:match('%d+')) end
  ok('by their cost', level('torch.sigmoid') < level(ITEM) and level(ITEM) <= level(BACKWARD), heat())
  -- It launches little, and the device is idle meanwhile.
  ok('and by what their hints say', level(BACKWARD) <= level(STEP), heat())
  local function background() return vim.api.nvim_get_hl(0, { name = 'PerflineLine16' }).bg end
  local before = background()
  vim.cmd.colorscheme('habamax')
  ok('colours follow the colour scheme', background() and background() ~= before, before)
  vim.cmd.colorscheme('default')
  vim.cmd('Perfline heat sign')
  ok('in the sign column', wait(function() return heat()[line_of(BACKWARD)].sign_text end), heat())
  vim.cmd('Perfline heat text')
  ok('as text', wait(function() return heat()[line_of(BACKWARD)].virt_text[1][1]:find('ms  %d+%.?%d* %%') end), heat())
  vim.cmd('Perfline heat off')
  ok('off', wait(function() return next(heat()) == nil end), heat())
  vim.cmd('Perfline heat line')
  ok('on again', wait(function() return heat()[line_of(BACKWARD)].line_hl_group end), heat())
end)

test('relative', function()
  local function level(text)
    local mark = heat()[line_of(text)]
    return mark and tonumber(mark.line_hl_group:match('%d+')) or 0
  end
  local step = level('torch.sigmoid')
  at('torch.sigmoid')
  vim.cmd('Perfline relative function')
  ok(
    'to the function',
    wait(function() return level('torch.sigmoid') > step and not heat()[line_of(BACKWARD)] end),
    heat()
  )
  at(BACKWARD)
  vim.api.nvim_exec_autocmds('CursorMoved', { buffer = buf })
  ok(
    'which is that of the cursor',
    wait(function() return heat()[line_of(BACKWARD)] and not heat()[line_of(ITEM)] end),
    heat()
  )
  vim.cmd(('%d,%dPerfline relative'):format(line_of('residual = x'), line_of(ITEM)))
  ok('to a selection', wait(function() return level(ITEM) > 12 and not heat()[line_of(BACKWARD)] end), heat())
  vim.api.nvim_buf_set_lines(buf, 0, 0, false, { '# one', '# two' })
  ok(
    'which moves with its lines',
    wait(function() return level(ITEM) > 12 and not heat()[line_of(BACKWARD)] end),
    heat()
  )
  vim.cmd('silent undo')
  vim.cmd('Perfline relative step')
  ok(
    'to the step again',
    wait(function() return level('torch.sigmoid') == step and heat()[line_of(BACKWARD)] end),
    heat()
  )
end)

test('edits', function()
  vim.api.nvim_buf_set_lines(buf, 0, 0, false, { '# one', '# two', '# three' })
  ok(
    'hints move with their lines',
    wait(function() return hint(ITEM) == usual and hint(BACKWARD) and not hint('residual = x') end),
    hints
  )
  ok('heat too', wait(function() return heat()[line_of(BACKWARD)] and vim.tbl_count(heat()) >= 4 end), heat())
  ok('diagnostics too', wait(function() return waits(ITEM) end), diagnostics)
  local place = line_of(BACKWARD)
  vim.api.nvim_buf_set_lines(buf, place - 1, place, false, { '    loss.backward(retain_graph=False)' })
  ok(
    'a changed line is stale',
    wait(function() return (hint('retain_graph') or '≈'):find('≈', 1, true) and hint(STEP) end),
    hints
  )
  vim.cmd('silent undo')
  ok('undone, it is not', wait(function() return hint(BACKWARD) and not hint(BACKWARD):find('≈', 1, true) end), hints)
  place = line_of(BACKWARD)
  vim.api.nvim_buf_set_lines(buf, place - 1, place, false, {})
  ok(
    'a deleted line takes its number along',
    wait(function() return not heat()[line_of('RuntimeError')] and hint(STEP) and heat()[line_of(STEP)] end),
    heat()
  )
  vim.cmd('silent undo')
  vim.cmd('silent undo')
  ok('undone, all is back', wait(function() return hint(ITEM) == usual and heat()[line_of(BACKWARD)] end), hints)
end)

test('jumps', function()
  vim.api.nvim_win_set_cursor(0, { line_of('average ='), 0 })
  vim.cmd('Perfline prev')
  ok('to the line above', wait(function() return here() == line_of(STEP) end), here())
  vim.cmd('Perfline next')
  ok('around the end', wait(function() return here() == line_of('self.squeeze(x)') end), here())
  vim.keymap.set('n', ']h', '<Plug>(perfline-next)')
  vim.keymap.set('n', '[h', '<Plug>(perfline-prev)')
  vim.api.nvim_feedkeys('3]h', 'x', false)
  ok('with a count', wait(function() return here() == line_of(ITEM) end), here())
  vim.api.nvim_feedkeys('[h', 'x', false)
  ok('and back', wait(function() return here() == line_of(LINEAR) end), here())
end)

test('lists', function()
  choose, offered = 2, nil
  vim.cmd('Perfline hot')
  ok('hot lines, hottest first', wait(function() return offered[1]:find(BACKWARD, 1, true) end), offered)
  ok('choosing goes there', wait(function() return here() == line_of(ITEM) end), here())
  choose, offered = nil, nil
  vim.cmd('Perfline hot wait')
  ok('by another metric', wait(function() return offered[1]:find(ITEM, 1, true) end), offered)
  offered = nil
  vim.cmd(('%d,%dPerfline hot'):format(line_of('class Gate'), line_of('class SlowModel') - 1))
  ok('of a selection', wait(function() return #offered == 2 and offered[1]:find('sigmoid', 1, true) end), offered)
  offered = nil
  vim.cmd('Perfline functions cpu')
  ok('functions', wait(function() return offered[1]:find('train_step', 1, true) end), offered)
  vim.cmd('Perfline quickfix')
  ok('the quickfix list', wait(function() return #vim.fn.getqflist() > 3 end), vim.fn.getqflist())
  local entry = vim.fn.getqflist()[1]
  ok(
    'with places and costs',
    entry.lnum == line_of(BACKWARD) and entry.bufnr == buf and entry.text:find('ms', 1, true),
    entry
  )
  vim.cmd('cclose')
end)

test('baseline', function()
  vim.cmd('Perfline baseline')
  ok(
    'there is none before',
    wait(function() return said:find('no recording in the workspace that is older', 1, true) end),
    said
  )
  vim.cmd('Perfline baseline slow_model.json.gz')
  ok(
    'one that is named',
    wait(function() return said:find('beside slow_model.json.gz: A step takes', 1, true) end),
    said
  )
  vim.cmd('Perfline baseline off')
  ok('and none', wait(function() return said:find('no baseline', 1, true) end), said)
end)

test('findings', function()
  vim.cmd('Perfline findings')
  ok(
    'in the quickfix list',
    wait(function() return vim.fn.getqflist({ title = 0 }).title:find('Findings', 1, true) end)
  )
  local found = vim.fn.getqflist()
  local of_file = vim.tbl_filter(
    function(it) return it.bufnr == buf and it.text:find('sync: the CPU waits', 1, true) end,
    found
  )
  ok('those of this file', #found > 3 and #of_file > 0 and of_file[1].lnum == line_of('x.max().item()'), found)
  ok('with their severity', found[1].type == 'W' and of_file[1].type == 'I', found)
  vim.cmd('cclose')
  at('x.max().item()')
  vim.lsp.buf.code_action({
    apply = true,
    filter = function(it) return it.title == 'Explain `sync`' end,
    context = { only = { 'quickfix.explain' }, diagnostics = {} },
  })
  ok('the page of a rule', wait(function() return (float() or ''):find('When it fires', 1, true) end), float)
  close_float()
end)

test('explain', function()
  at(LINEAR)
  vim.cmd('Perfline explain')
  ok(
    'the page of the finding on this line',
    wait(function() return float():find('tensor-cores-unused`: matrix', 1, true) end),
    float
  )
  close_float()
  at('def train_step')
  vim.cmd('Perfline explain')
  ok('no finding', wait(function() return said:find('no rule found anything', 1, true) end), said)
  vim.cmd('Perfline explain sync')
  ok('the page of a rule', wait(function() return (float() or ''):find('# `sync`: ', 1, true) end), float)
  close_float()
  local words = vim.fn.getcompletion('Perfline explain ', 'cmdline')
  ok('completion of rules', vim.list_contains(words, 'sync'), words)
end)

test('rows of lists', function()
  local columns = vim.o.columns
  for _, width in ipairs({ 80, 100, 150 }) do
    vim.o.columns, offered = width, nil
    vim.cmd('Perfline hot')
    -- Neovim writes a number before each.
    ok(
      ('fit %d columns'):format(width),
      wait(function()
        return vim.iter(offered):all(function(it) return vim.fn.strdisplaywidth(it) + #'20: ' <= width end)
      end),
      function() return offered end
    )
    ok('with the number and the place', offered[1]:find('^ *4%.2 ms  21%.8 %%  slow_model%.py:97 '), offered)
  end
  vim.o.columns = columns
end)

test('maps', function()
  for _, map in ipairs(vim.api.nvim_get_keymap('n')) do
    if map.lhs:find('^<Plug>%(perfline') then ok(map.lhs .. ' says what it does', map.desc) end
  end
end)

test('details', function()
  at(LINEAR)
  vim.cmd('Perfline details')
  ok('show the kernels', wait(function() return float():find('sgemm', 1, true) end), float())
  local columns = {}
  for line in (float() or ''):gmatch('[^\n]+') do
    if line:find('calls', 1, true) and line:find('kernel', 1, true) then
      columns.head = vim.fn.strdisplaywidth(line:match('^.-calls'))
    end
    if line:find('sgemm', 1, true) then columns.row = vim.fn.strdisplaywidth(line:match('^.-%s+%d+')) end
  end
  ok('in columns', columns.head and columns.head == columns.row, float())
  close_float()
  vim.cmd('Perfline callees')
  ok(
    'callees',
    wait(
      function()
        return #offered == 2 and offered[1]:find('Linear (6 modules)', 1, true) and offered[2]:find('relu', 1, true)
      end
    ),
    offered
  )
  at('pred = model(x)')
  choose = 1
  vim.cmd('Perfline callees')
  ok(
    'choosing one goes to its forward',
    wait(function() return here() == line_of('for layer, gate') - 1 end),
    function() return { here(), offered } end
  )
  choose = nil
  at(ITEM)
  offered = nil
  vim.cmd('Perfline callers')
  ok('callers', wait(function() return #offered > 0 end), offered)
  vim.cmd('Perfline generated')
  ok('say when nothing was compiled', wait(function() return said:find('torch.compile', 1, true) end), said)
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
  vim.cmd('Perfline details')
  ok('say when there are none', wait(function() return said:find('nothing', 1, true) end), said)
end)

test('view', function()
  vim.cmd('Perfline metric cpu')
  ok('another metric', wait(function() return hint(BACKWARD):find('cpu', 1, true) end), hints)
  ok(
    'in the statusline',
    wait(function() return require('perfline').statusline():find('^cpu · slow_model.json.gz') end),
    require('perfline').statusline()
  )
  ok('heat follows', wait(function() return heat()[line_of(ITEM)] end), heat())
  vim.cmd('Perfline step 2')
  ok('one step', wait(function() return status().view.step == 2 end), status())
  vim.cmd('Perfline step mean')
  vim.cmd('Perfline rank 0')
  ok('one rank', wait(function() return status().view.rank == 0 and status().view.step == 'mean' end), status())
  vim.cmd('Perfline rank all')
  vim.cmd('Perfline filter nowhere.py in nothing')
  ok('no line of other files', wait(function() return hint(BACKWARD) == nil end), hints)
  local filter = {
    files = { 'nowhere.py' },
    functions = { 'nothing' },
    modules = {},
    steps = {},
    threads = {},
    streams = {},
  }
  ok('a filter', wait(function() return vim.deep_equal(status().view.filter, filter) end), status())
  vim.cmd('Perfline filter phase=backward')
  ok(
    'the other lines are of another phase',
    wait(function() return hint(ITEM) == nil and hint(BACKWARD) ~= nil end),
    hints
  )
  ok('which part', wait(function() return said:find('only --phase backward: ', 1, true) end), said)
  local words = vim.fn.getcompletion('Perfline filter ', 'cmdline')
  for _, word in ipairs({ 'in', 'slow_model.py', 'phase=optimizer', 'module=Gate', 'step=2', 'stream=7' }) do
    ok('completion of ' .. word, vim.list_contains(words, word), words)
  end
  local functions = vim.fn.getcompletion('Perfline filter in Gate', 'cmdline')
  ok('completion of functions', vim.list_contains(functions, 'Gate.forward'), functions)
  vim.cmd('Perfline filter')
  ok('all lines', wait(function() return hint(BACKWARD) ~= nil and hint(ITEM) ~= nil end), hints)
  vim.cmd('Perfline metric auto')
  ok('as before', wait(function() return hint(BACKWARD):find('gpu', 1, true) end), hints)
  vim.cmd('Perfline metric nonsense')
  ok('what is none is reported', wait(function() return said:find('nonsense', 1, true) end), said)
end)

test('formats', function()
  local before = hint(BACKWARD)
  vim.cmd('Perfline format')
  ok('shares', wait(function() return hint(BACKWARD):find('^%s*%d+%.?%d* %%$') end), hints)
  vim.cmd('Perfline format')
  ok('values', wait(function() return hint(BACKWARD):find('^%s*%d+%.?%d* ms gpu$') end), hints)
  vim.cmd('Perfline metric cpu')
  ok('of the metric', wait(function() return hint(BACKWARD):find('^%s*%d+%.?%d* ms cpu$') end), hints)
  vim.cmd('Perfline metric auto')
  vim.cmd('Perfline format')
  ok('and all again', wait(function() return hint(BACKWARD) == before end), hints)
end)

test('loading', function()
  vim.cmd('Perfline unload')
  ok(
    'unload takes all away',
    wait(function() return not status().loaded and next(hints()) == nil and next(heat()) == nil end),
    function() return { status().loaded, hints(), heat() } end
  )
  ok('the statusline too', require('perfline').statusline() == '', require('perfline').statusline())
  vim.cmd('Perfline load ' .. vim.env.PERFLINE_CPU)
  ok('load brings a recording', wait(function() return hint(BACKWARD):find('cpu', 1, true) end), hints)
  ok('without device time', wait(function() return status().view.effectiveMetric == 'cpu' end), status())
  choose = 2
  vim.cmd('Perfline recent')
  ok('recent ones are offered', wait(function() return hint(BACKWARD):find('gpu', 1, true) end), offered)
  vim.cmd('Perfline load nothing.json')
  ok('what cannot be read is reported', wait(function() return said:find('nothing.json', 1, true) end), said)
end)

-- A Python that copies a recording in place of making it.
local PYTHON = [[#!/bin/sh
case "$*" in
  *--help) [ -e installed ] || { echo "python: No module named perfline" >&2; exit 1; } ;;
  *) echo "$*" >calls
     mkdir -p perfline-runs
     cp slow_model.json.gz perfline-runs/partial
     mv perfline-runs/partial perfline-runs/host_1.1.pt.trace.json.gz
     until [ -e done ]; do sleep 0.1; done
     exit 3 ;;
esac
]]

test('recording', function()
  local function write(path, content)
    vim.fn.mkdir(vim.fs.dirname(path), 'p')
    vim.fn.writefile(vim.split(content, '\n'), path)
  end
  write('.venv/bin/python', PYTHON)
  vim.uv.fs_chmod('.venv/bin/python', tonumber('755', 8))
  vim.cmd('Perfline record')
  ok('what is missing is said', wait(function() return said:find('-m pip install perfline', 1, true) end), said)
  write('installed', '')
  vim.cmd('Perfline unload')
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
  vim.cmd('Perfline record --epochs 1')
  ok('numbers come while the program runs', wait(function() return hint(BACKWARD):find('gpu', 1, true) end), hints)
  ok('of the new recording', wait(function() return status().summary:find('host_1', 1, true) end), status)
  ok('the hottest line is shown', wait(function() return here() == line_of(BACKWARD) end), here())
  ok('the terminal is below', #vim.api.nvim_list_wins() == 2 and vim.bo.filetype == 'python')
  local arguments = vim.fn.readfile('calls')[1]
  ok(
    'its arguments',
    arguments:find('%-m perfline record %-%-folder .*/perfline%-runs .*/slow_model.py %-%-epochs 1$'),
    arguments
  )
  write('done', '')
  ok('a failure is said', wait(function() return said:find('failed or was ended', 1, true) end), said)
  for _, path in ipairs({ '.venv', 'perfline-runs', 'installed', 'done', 'calls' }) do
    vim.fn.delete(path, 'rf')
  end
  vim.cmd('Perfline load slow_model.json.gz')
  ok('as before', wait(function() return status().summary:find('slow_model.json.gz', 1, true) end), status)
end)

test('memory', function()
  vim.cmd('Perfline memory')
  ok(
    'what holds memory, by line',
    wait(function() return vim.bo.filetype == 'perfline-report' and vim.fn.search('77.1 %  slow_model.py:97') > 0 end),
    function() return vim.api.nvim_buf_get_lines(0, 0, -1, false) end
  )
  vim.cmd('close')
end)

test('report', function()
  vim.cmd('Perfline report')
  ok(
    'opens',
    wait(function() return vim.bo.filetype == 'perfline-report' and vim.fn.search('CUDA time') > 0 end),
    vim.bo.filetype
  )
  vim.cmd('close')
end)

-- What the server of a page answers.
local function http(url, path, body)
  local host, port, key = url:match('^http://([%d.]+):(%d+)(/%x+/)')
  local answer, ended = '', false
  local socket = assert(vim.uv.new_tcp())
  local head = 'POST %s%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n'
  local kind = 'Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s'
  socket:connect(host, tonumber(port), function()
    socket:write((head .. kind):format(key, path, #body, body))
    socket:read_start(function(_, data)
      answer, ended = answer .. (data or ''), data == nil
    end)
  end)
  wait(function() return ended end)
  socket:close()
  return answer
end

test('page in a browser', function()
  local url
  local open = vim.ui.open
  vim.ui.open = function(it)
    url = it
    return { wait = function() return { code = 0 } end }
  end
  at('loss.backward()')
  local line = here()
  vim.cmd('Perfline view flame')
  ok('opens on this line', wait(function() return url and url:find('#flame:slow_model.py:%d+$') end), url)
  vim.cmd('normal! gg')
  local answer = http(url, 'open', vim.json.encode({ file = 'slow_model.py', line = line }))
  ok('a click there', answer:find('200 OK', 1, true), answer)
  ok('goes to the line', wait(function() return here() == line end), here())
  vim.ui.open = open
end)

test('completion', function()
  local function complete(line) return vim.fn.getcompletion(line, 'cmdline') end
  ok(
    'of subcommands',
    vim.tbl_contains(complete('Perfline '), 'hot') and vim.deep_equal(complete('Perfline une'), {}),
    complete('Perfline ')
  )
  ok('of metrics', vim.tbl_contains(complete('Perfline metric '), 'wait'), complete('Perfline metric '))
  ok(
    'of charges',
    vim.deep_equal(complete('Perfline metric cpu '), { 'own', 'total' }),
    complete('Perfline metric cpu ')
  )
  ok(
    'of steps',
    vim.deep_equal(complete('Perfline step '), { 'mean', 'run', '1', '2', '3' }),
    complete('Perfline step ')
  )
  ok('of files', vim.tbl_contains(complete('Perfline load slow'), 'slow_model.json.gz'), complete('Perfline load slow'))
  ok('after a range', vim.deep_equal(complete("'<,'>Perfline rel"), { 'relative' }), complete("'<,'>Perfline rel"))
end)

test('health', function()
  vim.cmd('checkhealth perfline')
  local text = wait(function()
    local lines = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
    return lines:find('They open in', 1, true) and lines
  end) or ''
  ok('the program', text:find('perfline %d+%.%d+%.%d+'), text)
  ok('the recording', text:find('slow_model.json.gz', 1, true) and text:find('mean of 3 steps', 1, true), text)
  ok('the evidence', text:find('%d+ lines exact, %d+ inferred'), text)
  ok('no error', not text:find('ERROR', 1, true), text)
  vim.cmd('bwipeout')
end)

test('help', function()
  vim.cmd('help perfline')
  ok('opens', vim.fn.expand('%:t') == 'perfline.txt', vim.fn.expand('%'))
  vim.cmd('helpclose')
  for _, name in ipairs(vim.fn.getcompletion('Perfline ', 'cmdline')) do
    ok('on :Perfline ' .. name, #vim.fn.getcompletion(':Perfline-' .. name, 'help') > 0)
  end
end)

test('options', function()
  require('perfline').setup({ heat = { style = 'nowhere' }, colour = 'red' })
  ok(
    'mistakes are reported',
    said:find('heat.style: "nowhere" is none of', 1, true) and said:find('colour is no option', 1, true),
    said
  )
  ok('and not taken', require('perfline.config').options.heat.style[1] == 'line')
  require('perfline').setup()
end)

-- Each test begins with the text as it was, in one window.
local text
local function reset()
  vim.cmd('silent! only')
  vim.api.nvim_win_set_buf(0, buf)
  if not vim.deep_equal(vim.api.nvim_buf_get_lines(buf, 0, -1, false), text) then
    vim.api.nvim_buf_set_lines(buf, 0, -1, false, text)
  end
  choose, offered, said = nil, nil, ''
  if usual then ok('as usual', wait(function() return hint(ITEM) == usual end), hints) end
end

-- What the kernel ran is known by a hash of each cell, so that any text with such a cell has its numbers.
test('notebooks', function()
  local folder = vim.env.PERFLINE_NOTEBOOK
  local own = buf
  local function shows(code, pattern)
    return wait(function() return (hint(code) or ''):find(pattern) end)
  end
  for _, name in ipairs({ 'percent.py', 'light.py', 'markdown.md', 'myst.md' }) do
    vim.cmd.edit(folder .. '/' .. name)
    buf = vim.api.nvim_get_current_buf()
    ok(name .. ' has hints', shows(BACKWARD, 'ms cpu$'), function() return hint(BACKWARD) or vim.bo.filetype end)
    ok('in each cell', shows('F.gelu(block(x))', '~.* ms cpu'), function() return hint('F.gelu(block(x))') end)
    ok('and heat', wait(function() return heat()[line_of(BACKWARD)] and heat()[line_of('F.gelu')] end), heat)
  end
  choose = nil
  vim.cmd('Perfline hot')
  ok(
    'hot lines are lines of the text',
    wait(function()
      return vim.iter(offered):any(function(it) return it:find('[%w]+%.%w+:%d%d  <module> +loss%.backward') end)
    end),
    function() return offered end
  )
  vim.cmd('Perfline functions')
  ok(
    'functions too',
    wait(function()
      return vim.iter(offered):any(function(it) return it:find('Classifier.forward', 1, true) end)
    end),
    function() return offered end
  )

  -- As jupytext.nvim shows a notebook file: as Python, under its own name.
  vim.cmd.enew()
  buf = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_set_name(buf, folder .. '/notebook.ipynb')
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, vim.fn.readfile(folder .. '/percent.py'))
  vim.bo.filetype = 'python'
  ok('a notebook file as Python', shows(BACKWARD, 'ms cpu$'), function() return hint(BACKWARD) end)
  local place_of_cell = line_of('for x, y in data')
  vim.api.nvim_buf_set_lines(buf, place_of_cell, place_of_cell, false, { '        print(x)' })
  ok(
    'the edited cell is followed',
    wait(function() return hint(BACKWARD) and not hint('print(x)') end),
    function() return hint(BACKWARD) end
  )
  at('import os')
  vim.api.nvim_set_current_line('import sys')
  ok(
    'the other cells are as they were',
    shows('F.gelu(block(x))', '~.* ms cpu'),
    function() return hint('F.gelu(block(x))') end
  )
  -- Neovim 0.12 asks for lenses a moment after an edit, and fails where the buffer is gone by then.
  vim.wait(500)
  vim.cmd('bwipeout!')

  vim.cmd.edit(folder .. '/README.md')
  ok('prose starts no server', #vim.lsp.get_clients({ bufnr = 0, name = 'perfline' }) == 0)
  buf = own
end)

-- Opens a file of a project with a recording.
local function visit(path)
  vim.cmd.edit(vim.fs.joinpath(vim.env.PERFLINE_SOURCES, path))
  buf = vim.api.nvim_get_current_buf()
end
local function notices(part)
  return vim.tbl_filter(function(it) return it:find(part, 1, true) ~= nil end, heard)
end
local function read(path)
  local file = io.open(vim.fs.joinpath(vim.env.PERFLINE_SOURCES, path), 'rb')
  return file and file:read('*a'), file and file:close()
end
-- Starts the servers of some buffers anew.
local function restart(bufs)
  vim.cmd('Perfline stop')
  wait(function() return #vim.lsp.get_clients({ name = 'perfline' }) == 0 end)
  for _, it in ipairs(bufs) do
    vim.api.nvim_win_set_buf(0, it)
    vim.cmd('Perfline start')
    wait(function() return #vim.lsp.get_clients({ name = 'perfline', bufnr = it }) == 1 end)
  end
end

test('copies of a source', function()
  local own = buf
  visit('copies/b/slow_model.py')
  local second = buf
  visit('copies/a/slow_model.py')
  ok('numbers are in the first', wait(function() return hint(BACKWARD):find('gpu', 1, true) end), hints)
  ok('a message says so', wait(function() return #notices('1 source file is there twice; :Perfline sources') == 1 end))
  choose = nil
  vim.cmd('Perfline sources')
  local expected = { 'a/slow_model.py  (taken so far)', 'b/slow_model.py' }
  ok('which one is asked', wait(function() return vim.deep_equal(offered, expected) end), offered)
  -- The second one, and then the second answer: for this session only.
  choose = 2
  vim.cmd('Perfline sources')
  ok(
    'whether it is to last is asked',
    wait(function() return offered[1]:find('Yes, write it into .*perfline%.toml$') end),
    function() return offered end
  )
  local option = "settings = { sources = { map = { ['slow_model.py'] = 'b/slow_model.py' } } }"
  ok('else the option is shown', wait(function() return said:find(option, 1, true) end), said)
  ok('and nothing is written', read('copies/perfline.toml') == nil)
  ok('the numbers leave the first', wait(function() return hint(BACKWARD) == nil end), hints)
  vim.api.nvim_win_set_buf(0, second)
  buf = second
  ok('and are in the second', wait(function() return hint(BACKWARD):find('gpu', 1, true) end), hints)
  vim.cmd('Perfline sources')
  ok('nothing is left to ask', wait(function() return said:find('every source file was found once', 1, true) end), said)
  restart({ own, second })
  ok('another server has it, too', wait(function() return hint(BACKWARD):find('gpu', 1, true) end), hints)
  ok('the message came once', #notices('there twice') == 1, heard)
  vim.wait(500)
  vim.cmd('bwipeout!')
  buf = own
end)

test('sources in a folder of the project', function()
  local own = buf
  visit('lost/main.py')
  local project = buf
  ok(
    'a message says that none was found',
    wait(function() return #notices('no source file was found; :Perfline locate') == 1 end),
    function() return heard end
  )
  local code = vim.fs.joinpath(vim.env.PERFLINE_SOURCES, 'lost/.code')
  local words = vim.fn.getcompletion('Perfline locate ' .. code:sub(1, -2), 'cmdline')
  ok('completion of folders', vim.deep_equal(words, { code .. '/' }), words)
  local input = vim.ui.input
  local question
  vim.ui.input = function(options, done)
    question = options
    done(vim.fs.joinpath(vim.env.PERFLINE_SOURCES, 'lost'))
  end
  vim.cmd('Perfline locate')
  ok(
    'a folder without them is refused',
    wait(function() return said:find('has no file of the recording', 1, true) end),
    said
  )
  ok(
    'the folder is asked for',
    question.completion == 'dir' and question.prompt:find('^Folder of .*%.py and 1 more: $'),
    question
  )
  vim.ui.input = input
  choose = 1
  vim.cmd('Perfline locate ' .. code .. '/../.code')
  local expected = '[view]\nmetric = "cuda" # as ever\n\n[sources.map]\n"slow_model.py" = ".code/slow_model.py"\n'
  ok(
    'it is added to the file of the project',
    wait(function() return read('lost/perfline.toml') == expected end),
    read('lost/perfline.toml')
  )
  ok('which is said', said:find('perfline.toml has slow_model.py = .code/slow_model.py', 1, true), said)
  visit('lost/.code/slow_model.py')
  local found = buf
  ok('numbers are there', wait(function() return hint(BACKWARD):find('gpu', 1, true) end), hints)
  visit('lost/perfline.toml')
  local file = buf
  vim.cmd('silent $delete | silent write')
  buf = found
  ok(
    'what the user takes out of the file counts no more',
    wait(function() return status().sources.found == 0 end),
    status
  )
  vim.cmd('silent undo | silent write')
  ok('what is in it counts', wait(function() return status().sources.found == 1 end), status)
  vim.api.nvim_win_set_buf(0, found)
  restart({ own, found })
  ok('a server that is started anew reads it', wait(function() return hint(BACKWARD):find('gpu', 1, true) end), hints)
  ok('the message came once', #notices('no source file was found') == 1, heard)
  vim.wait(500)
  vim.cmd('bwipeout! ' .. file)
  vim.cmd('bwipeout! ' .. project)
  vim.cmd('bwipeout! ' .. found)
  buf = own
end)

test('sources outside of the project', function()
  local own = buf
  visit('away/main.py')
  local project = buf
  wait(function() return status().sources.missing > 0 end)
  choose, offered = 1, nil
  local folder = vim.uv.fs_realpath(vim.fs.joinpath(vim.env.PERFLINE_SOURCES, 'elsewhere'))
  vim.cmd('Perfline locate ' .. vim.fs.joinpath(vim.env.PERFLINE_SOURCES, 'elsewhere'))
  local option = ("{ ['run.py'] = '%s/run.py', ['slow_model.py'] = '%s/slow_model.py' }"):format(folder, folder)
  ok('the option is shown', wait(function() return said:find(option, 1, true) end), said)
  ok('and nothing asked or written', offered == nil and read('away/perfline.toml') == nil, offered)
  ok('the sources are found', wait(function() return status().sources.missing == 0 end), status)
  local n_servers = #vim.lsp.get_clients({ name = 'perfline' })
  visit('elsewhere/slow_model.py')
  local found = buf
  ok('numbers are there', wait(function() return hint(BACKWARD):find('gpu', 1, true) end), hints)
  ok('by the same server', #vim.lsp.get_clients({ name = 'perfline' }) == n_servers)
  vim.cmd('bwipeout! ' .. found)
  vim.cmd('bwipeout! ' .. project)
  buf = own
end)

test('the file of the project', function()
  local mappings = { { recorded = '/srv/app', folder = 'services/app' } }
  local line = '"/srv/app" = "services/app"\n'
  local table_of_it = '[sources.map]\n' .. line
  local rows = {
    { '', table_of_it },
    { '[view]\nmetric = "cuda"\n', '[view]\nmetric = "cuda"\n\n' .. table_of_it },
    { '[view]\nmetric = "cuda"', '[view]\nmetric = "cuda"\n\n' .. table_of_it },
    { '[view]\r\n', '[view]\r\n\r\n[sources.map]\r\n"/srv/app" = "services/app"\r\n' },
    { '[sources]\nkeep = false\n', '[sources]\nkeep = false\n\n' .. table_of_it },
    { '[sources.map]', table_of_it },
    { '[ sources . map ] # here\n\n[code]\n', '[ sources . map ] # here\n' .. line .. '\n[code]\n' },
    { '[sources.map]\n"/x" = "y"\n\n# code\n[code]\n', '[sources.map]\n"/x" = "y"\n' .. line .. '\n# code\n[code]\n' },
    {
      "[sources.map]\n'/srv/app/' = 'old' # why\nx = '#'\n",
      "[sources.map]\n'/srv/app/' = \"services/app\" # why\nx = '#'\n",
    },
    -- What is there in another form is not edited, nor what may be something else than it looks like.
    { '[sources]\nmap = {}\n' },
    { '[sources]\n"map"."/x" = "y"\n' },
    { 'sources = { map = {} }\n' },
    { 'sources.map."/x" = "y"\n' },
    { '["sources".map]\n' },
    { '[[sources.map]]\n' },
    { '[sources.map]\n[sources.map]\n' },
    { '[sources.map]\n"/srv/\\u0061pp" = "y"\n' },
    { '[sources.map]\n"/x" = [\n' },
    { 'text = """\n[sources.map]\n"""\n' },
  }
  local project_file = require('perfline.project_file')
  for _, row in ipairs(rows) do
    local edited = project_file.with(row[1], mappings)
    ok(('%q'):format(row[1]):gsub('\n', 'n'), edited == row[2], edited or 'not edited')
  end
  local quotes = project_file.with('', { { recorded = 'C:/a "b"', folder = 'c\\d' } })
  ok('quotes', quotes == '[sources.map]\n"C:/a \\"b\\"" = "c\\\\d"\n', quotes)

  local folder = vim.fs.joinpath(vim.env.PERFLINE_SOURCES, 'file')
  local path = vim.fs.joinpath(folder, 'perfline.toml')
  vim.fn.mkdir(folder)
  ok('is made', project_file.add(folder, mappings) == nil and read('file/perfline.toml') == table_of_it)
  vim.uv.fs_chmod(path, tonumber('600', 8))
  vim.cmd.edit(path)
  local edited = vim.api.nvim_get_current_buf()
  local other = { { recorded = '/srv/app', folder = 'app' } }
  ok(
    'is changed',
    project_file.add(folder, other) == nil and read('file/perfline.toml') == table_of_it:gsub('services/', '')
  )
  ok('keeps its mode', vim.uv.fs_stat(path).mode % 512 == tonumber('600', 8))
  ok('is shown as it is now', vim.api.nvim_buf_get_lines(edited, 1, 2, false)[1] == '"/srv/app" = "app"')
  vim.api.nvim_buf_set_lines(edited, 0, 0, false, { '# mine' })
  ok('is left alone while it is edited', project_file.add(folder, mappings):find('not saved', 1, true))
  vim.cmd('bwipeout!')
  vim.uv.fs_rename(path, path .. '.old')
  vim.uv.fs_symlink(path .. '.old', path)
  ok('is left alone where it is a link', project_file.add(folder, mappings):find('no regular file', 1, true))
  ok('nothing else is left', #vim.fn.readdir(folder) == 2, vim.fn.readdir(folder))
end)

test('stopping', function()
  vim.cmd('Perfline stop')
  ok(
    'takes all away',
    wait(function() return #vim.lsp.get_clients({ name = 'perfline' }) == 0 and next(heat()) == nil end),
    heat
  )
  ok('in silence', said == '', said)
  vim.cmd('Perfline start')
  ok('starting brings it back', wait(function() return hint(ITEM) == usual and heat()[line_of(BACKWARD)] end), hints)
end)

local function run()
  buf = vim.api.nvim_get_current_buf()
  text = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  for _, it in ipairs(tests) do
    io.stdout:write(it.name .. '\n')
    reset()
    local good, problem = xpcall(it.run, debug.traceback)
    if not good then ok(it.name, false, problem) end
  end
end

local good, problem = xpcall(run, debug.traceback)
if not good then ok('the tests run', false, problem) end
local errors = vim.v.errmsg
if errors ~= '' then ok('no error message', false, errors) end
io.stdout:write(('%s  Neovim %s\n'):format(failures == 0 and 'PASS' or failures .. ' FAILED', tostring(vim.version())))
io.stdout:flush()
vim.cmd(failures == 0 and 'qa!' or 'cquit')
