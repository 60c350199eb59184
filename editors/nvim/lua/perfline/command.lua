-- `:Perfline`: its subcommands, what completes them, and the maps that call them.
local client = require('perfline.client')

local M = {}

local METRICS = { 'auto', 'cpu', 'cuda', 'backward', 'wait', 'idle', 'comm', 'memory' }

---@class perfline.Call
---@field words string[] after the subcommand
---@field first integer? the range, if one was given
---@field last integer?
---@field bang boolean

---@class perfline.Subcommand
---@field run fun(call: perfline.Call)
---@field complete? fun(words: string[]): string[] for the word after `words`

---@param name string
local function view_list(name)
  local status = client.status()
  return vim.tbl_map(tostring, status and status.view[name] or {})
end

---@param view perfline.View
local function say_view(view)
  local metric = view.metric
  if view.effectiveMetric ~= metric then metric = ('%s (%s)'):format(metric, view.effectiveMetric) end
  local shown = ('%s, %s · step: %s · rank: %s'):format(metric, view.charge, view.step, view.rank)
  if view.part then shown = ('%s · only %s: %s'):format(shown, view.part.filter, view.part.extent) end
  local files, functions = table.concat(view.filter.files, ' '), table.concat(view.filter.functions, ' ')
  if files ~= '' then shown = ('%s · files: %s'):format(shown, files) end
  if functions ~= '' then shown = ('%s · functions: %s'):format(shown, functions) end
  client.say(shown)
end

-- What stands before the `=` of a word of a filter, and the list of the server that it goes to.
local FILTER_LISTS = { module = 'modules', step = 'steps', thread = 'threads', stream = 'streams' }

-- Patterns of files, and after `in` those of functions; `phase=backward`, `module=GLOB`, `step=3-7`, `thread=NAME`, `stream=7`.
---@param words string[]
---@return table<string, any>
local function filter_of(words)
  local filter = { files = {}, functions = {}, modules = {}, steps = {}, threads = {}, streams = {} }
  local list = filter.files
  for _, word in ipairs(words) do
    local name, value = word:match('^(%l+)=(.+)$')
    if word == 'in' then
      list = filter.functions
    elseif name == 'phase' then
      filter.phase = value
    elseif name and FILTER_LISTS[name] then
      table.insert(filter[FILTER_LISTS[name]], name == 'stream' and tonumber(value) or value)
    else
      table.insert(list, word)
    end
  end
  -- An empty table is an object in JSON.
  for name, values in pairs(filter) do
    if type(values) == 'table' and #values == 0 then filter[name] = nil end
  end
  return filter
end

-- What a filter can be given of the recording, after what is there already.
---@param words string[]
---@return string[]
local function filter_words(words)
  local values = client.values()
  if vim.list_contains(words, 'in') then return values.functions or {} end
  local found = vim.list_extend({ 'in' }, values.files or {})
  local names = { phase = 'phases', module = 'modules', step = 'steps', thread = 'threads', stream = 'streams' }
  for name, list in vim.spairs(names) do
    for _, value in ipairs(values[list] or {}) do
      table.insert(found, ('%s=%s'):format(name, value))
    end
  end
  return found
end

---@param word string
---@return string|integer
local function number_or_word(word) return tonumber(word) or word end

---@param paths string[]
local function load(paths)
  paths = vim.tbl_map(function(it) return vim.fn.fnamemodify(vim.fn.expand(it), ':p') end, paths)
  client.ask('load', #paths > 0 and { paths = paths } or {}, function(answer)
    local inputs = vim.tbl_map(function(it) return vim.fs.basename(it.path) end, answer.inputs)
    client.say(('loaded %s: %d lines'):format(table.concat(inputs, ', '), answer.lines))
    for _, failure in ipairs(answer.failures) do
      client.say(failure, vim.log.levels.WARN)
    end
  end)
end

-- Compares what is shown with a recording, or with the one before it.
---@param words string[]
local function baseline(words)
  if words[1] == 'off' then
    client.ask('clearBaseline', {}, function() client.say('no baseline') end)
    return
  end
  local paths = vim.tbl_map(function(it) return vim.fn.fnamemodify(vim.fn.expand(it), ':p') end, words)
  client.ask(
    'setBaseline',
    #paths > 0 and { paths = paths } or {},
    function(answer) client.say(('beside %s: %s'):format(answer.name, answer.verdict or 'nothing is loaded')) end
  )
end

-- Opens the report with its pictures in a browser; with a picture, this line in it.
---@param picture string?
local function view(picture)
  local argument = {}
  if picture then
    local line = vim.api.nvim_win_get_cursor(0)[1]
    argument = { picture = picture, uri = vim.uri_from_bufnr(0), line = line }
  end
  -- The address without what it begins with: for a browser on another machine, and short enough for a line.
  client.ask('view', argument, function(answer) client.say((answer.url:gsub('#.*', ''))) end)
end

local function recent()
  local runs = require('perfline.recent').list()
  local options = {
    prompt = 'Recordings loaded lately',
    format_item = function(it)
      return vim.fn.fnamemodify(it[1], ':~:.') .. (#it > 1 and (' and %d more'):format(#it - 1) or '')
    end,
  }
  vim.ui.select(runs, options, function(it)
    if it then load(it) end
  end)
end

---@param call perfline.Call
---@return perfline.HotQuery
local function query(call)
  local words = vim.list_slice(call.words)
  local here = words[1] == 'file' and table.remove(words, 1) ~= nil
  return { metric = words[1], here = here, first = call.first, last = call.last, all = call.bang }
end

local function hot_words(words)
  return #words == 0 and vim.list_extend({ 'file' }, METRICS) or words[1] == 'file' and #words == 1 and METRICS or {}
end

-- Completes the first word alone.
---@param list string[]|fun(): string[]
local function one_of(list)
  return function(words)
    if #words > 0 then return {} end
    return type(list) == 'function' and list() or list
  end
end

---@type table<string, perfline.Subcommand>
local subcommands = {
  record = {
    run = function(call) require('perfline.record').start(call.words) end,
    complete = function() return { '@file' } end,
  },
  load = {
    run = function(call) load(call.words) end,
    complete = function() return { '@file' } end,
  },
  baseline = {
    run = function(call) baseline(call.words) end,
    complete = function() return { '@file' } end,
  },
  recent = { run = recent },
  locate = {
    -- A path may have spaces.
    run = function(call) require('perfline.sources').locate(table.concat(call.words, ' ')) end,
    complete = one_of({ '@dir' }),
  },
  sources = { run = function() require('perfline.sources').choose() end },
  unload = {
    run = function()
      client.ask('unload', {}, function() client.say('no recording is shown') end)
    end,
  },
  metric = {
    run = function(call)
      client.ask('setMetric', { metric = call.words[1] or 'auto', charge = call.words[2] }, say_view)
    end,
    complete = function(words) return #words == 0 and METRICS or #words == 1 and { 'own', 'total' } or {} end,
  },
  step = {
    run = function(call) client.ask('setStep', { step = number_or_word(call.words[1] or 'mean') }, say_view) end,
    complete = one_of(function() return vim.list_extend({ 'mean', 'run' }, view_list('steps')) end),
  },
  rank = {
    run = function(call) client.ask('setRank', { rank = number_or_word(call.words[1] or 'all') }, say_view) end,
    complete = one_of(function() return vim.list_extend({ 'all' }, view_list('ranks')) end),
  },
  filter = {
    run = function(call) client.ask('setFilter', filter_of(call.words), say_view) end,
    complete = filter_words,
  },
  hot = { run = function(call) require('perfline.hot').pick(query(call)) end, complete = hot_words },
  quickfix = { run = function(call) require('perfline.hot').to_quickfix(query(call)) end, complete = hot_words },
  findings = { run = function() require('perfline.findings').to_quickfix() end },
  explain = {
    run = function(call)
      local findings = require('perfline.findings')
      if call.words[1] then return findings.explain(call.words[1]) end
      findings.explain_here()
    end,
    complete = one_of(function() return require('perfline.findings').rules() end),
  },
  functions = { run = function(call) require('perfline.hot').functions(query(call)) end, complete = hot_words },
  next = { run = function(call) require('perfline.hot').jump(1, tonumber(call.words[1]) or 1) end },
  prev = { run = function(call) require('perfline.hot').jump(-1, tonumber(call.words[1]) or 1) end },
  details = { run = function(call) require('perfline.details').show(call.words[1]) end, complete = one_of(METRICS) },
  callers = { run = function() require('perfline.details').callers() end },
  callees = { run = function() require('perfline.details').callees() end },
  generated = { run = function() require('perfline.details').generated() end },
  report = { run = function() require('perfline.report').show() end },
  memory = { run = function() require('perfline.report').memory() end },
  view = {
    run = function(call) view(call.words[1]) end,
    complete = one_of({ 'timeline', 'flame', 'memory', 'ranks', 'roofline' }),
  },
  heat = {
    run = function(call) require('perfline.heat').show(call.words[1] or 'toggle') end,
    complete = one_of({ 'on', 'off', 'toggle', 'line', 'number', 'sign', 'text' }),
  },
  relative = {
    run = function(call)
      local scope = call.words[1] or (call.first and 'range') or 'step'
      require('perfline.heat').relative(scope, call.first, call.last)
    end,
    complete = one_of({ 'step', 'file', 'function' }),
  },
  format = {
    run = function(call) require('perfline.format').set(call.words[1]) end,
    complete = one_of(function() return require('perfline.config').options.formats end),
  },
  status = {
    run = function()
      client.ask('status', {}, function(status) client.say(status.summary) end)
    end,
  },
  start = { run = function() client.start(vim.api.nvim_get_current_buf()) end },
  stop = { run = client.stop },
}

---@param arguments vim.api.keyset.create_user_command.command_args
function M.run(arguments)
  local words = vim.list_slice(arguments.fargs)
  local name = table.remove(words, 1) or 'status'
  local subcommand = subcommands[name]
  if not subcommand then
    client.say(('%s is no subcommand; :Perfline <Tab> lists them'):format(name), vim.log.levels.ERROR)
    return
  end
  local call = { words = words, bang = arguments.bang }
  if arguments.range > 0 then
    call.first, call.last = arguments.line1, arguments.line2
  end
  subcommand.run(call)
end

---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  local words = vim.split(line:gsub('^.-Perfline!?%s*', '', 1), '%s+')
  table.remove(words) -- the word that is being typed
  local name = table.remove(words, 1)
  local found
  if not name then
    found = vim.tbl_keys(subcommands)
    table.sort(found)
  else
    local complete = subcommands[name] and subcommands[name].complete
    found = complete and complete(words) or {}
    local kind = (found[1] or ''):match('^@(%l+)$')
    if kind then return vim.fn.getcompletion(lead, kind) end
  end
  return vim.tbl_filter(function(it) return vim.startswith(it, lead) end, found)
end

-- What `<Plug>(perfline-NAME)` does, with the selection and the count.
---@param name string
function M.map(name)
  local call = { words = {}, bang = false }
  if vim.fn.mode():find('[vV\22]') then
    local from, to = vim.fn.line('v'), vim.fn.line('.')
    call.first, call.last = math.min(from, to), math.max(from, to)
    vim.api.nvim_feedkeys(vim.keycode('<Esc>'), 'nx', false)
  end
  if name == 'next' or name == 'prev' then call.words = { tostring(vim.v.count1) } end
  if name == 'relative' and not call.first then
    -- From one to the next: the step, the file, the function.
    local after = { step = 'file', file = 'function' }
    call.words = { after[require('perfline.heat').scope()] or 'step' }
    client.say('heat is relative to the ' .. call.words[1])
  end
  subcommands[name].run(call)
end

return M
