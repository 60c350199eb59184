-- Heat: hot lines in colour, by what the server says of a buffer. The marks move with their lines while you type; after each
-- change that the server was notified of they are set anew.
local client = require('perfline.client')
local colors = require('perfline.colors')
local config = require('perfline.config')
local format = require('perfline.format')

local M = {}

local marks = vim.api.nvim_create_namespace('perfline.heat')
local selections = vim.api.nvim_create_namespace('perfline.selection')

---@class perfline.HeatLine
---@field line integer from 1
---@field value integer nanoseconds or bytes
---@field text string
---@field share number of 1
---@field heat number 0 to 1
---@field evidence 'exact'|'inferred'|'function'
---@field stale boolean
---@field function string

---@class perfline.Heat
---@field view perfline.View
---@field scope perfline.Scope
---@field total integer
---@field lines perfline.HeatLine[]

-- What is shown, for all buffers: nil until something else than the options was chosen.
---@type { enabled: boolean?, style: perfline.Style|perfline.Style[]|nil, scope: perfline.Scope? }
local chosen = {}

local function setting(name)
  if chosen[name] ~= nil then return chosen[name] end
  return config.options.heat[name]
end

-- The lines that a selection covers now, which may have moved since.
---@param buf integer
---@return integer? first, integer? last from 1
local function selection(buf)
  local mark = vim.api.nvim_buf_get_extmarks(buf, selections, 0, -1, { details = true })[1]
  if mark then return mark[2] + 1, mark[4].end_row + 1 end
end

-- What `perfline.heat` is to be asked for a buffer.
---@param buf integer
---@return table
local function question(buf)
  local scope, first, last = setting('scope'), nil, nil
  if scope == 'range' then
    first, last = selection(buf)
    if not first then scope = config.options.heat.scope end
  elseif scope == 'function' then
    local window = vim.fn.bufwinid(buf)
    first = window > 0 and vim.api.nvim_win_get_cursor(window)[1] or 1
  end
  return { uri = vim.uri_from_bufnr(buf), scope = scope, firstLine = first, lastLine = last }
end

---@param buf integer
---@param heat perfline.Heat
local function draw(buf, heat)
  vim.api.nvim_buf_clear_namespace(buf, marks, 0, -1)
  local styles = setting('style')
  if type(styles) == 'string' then styles = { styles } end
  local count = vim.api.nvim_buf_line_count(buf)
  for _, line in ipairs(heat.lines) do
    if line.line <= count then
      local level = colors.level(line.heat)
      local mark = { invalidate = true, undo_restore = false, priority = 50 }
      for _, style in ipairs(styles) do
        if style == 'line' then
          mark.line_hl_group = 'PerflineLine' .. level
        elseif style == 'number' then
          mark.number_hl_group = 'PerflineText' .. level
        elseif style == 'sign' then
          mark.sign_text, mark.sign_hl_group = colors.bar(line.heat), 'PerflineText' .. level
        elseif style == 'text' then
          mark.virt_text = { { ' ' .. format.line(line), 'PerflineText' .. level } }
          mark.virt_text_pos = 'right_align'
          mark.hl_mode = 'combine'
        end
      end
      vim.api.nvim_buf_set_extmark(buf, marks, line.line - 1, 0, mark)
    end
  end
end

-- Colours a buffer that shows a file without the server being attached, as previews do.
---@param buf integer
---@param uri string
function M.paint(buf, uri)
  require('perfline.colors').define()
  client.ask('heat', { uri = uri, scope = 'step' }, function(heat)
    if vim.api.nvim_buf_is_loaded(buf) then draw(buf, heat) end
  end)
end

---@param buf integer
function M.refresh(buf)
  if not vim.api.nvim_buf_is_loaded(buf) then return end
  if not setting('enabled') then
    vim.api.nvim_buf_clear_namespace(buf, marks, 0, -1)
    return
  end
  local tick = vim.api.nvim_buf_get_changedtick(buf)
  client.ask('heat', question(buf), function(heat)
    -- Of a text that was changed meanwhile: the answer for the new one is on its way.
    if not vim.api.nvim_buf_is_loaded(buf) or vim.api.nvim_buf_get_changedtick(buf) ~= tick then return end
    draw(buf, heat)
  end, buf)
end

---@param client_id integer?
function M.refresh_all(client_id)
  for _, it in ipairs(vim.lsp.get_clients({ name = 'perfline', id = client_id })) do
    for buf in pairs(it.attached_buffers) do
      M.refresh(buf)
    end
  end
end

-- Follows a buffer: what the server is notified of, and the cursor where heat is relative to its function.
---@param client_id integer
---@param buf integer
function M.attach(client_id, buf)
  local group = vim.api.nvim_create_augroup('perfline.heat.' .. buf, {})
  vim.api.nvim_create_autocmd('LspNotify', {
    group = group,
    buffer = buf,
    callback = function(event)
      local method = event.data.method
      if
        event.data.client_id == client_id and (method == 'textDocument/didOpen' or method == 'textDocument/didChange')
      then
        M.refresh(buf)
      end
    end,
  })
  local line
  vim.api.nvim_create_autocmd('CursorMoved', {
    group = group,
    buffer = buf,
    callback = function()
      if setting('scope') ~= 'function' then return end
      local now = vim.api.nvim_win_get_cursor(0)[1]
      if now ~= line then
        line = now
        M.refresh(buf)
      end
    end,
  })
  vim.api.nvim_create_autocmd('LspDetach', {
    group = group,
    buffer = buf,
    callback = function(event)
      if event.data.client_id ~= client_id then return end
      require('perfline.hints').forget(buf)
      vim.api.nvim_buf_clear_namespace(buf, marks, 0, -1)
      vim.api.nvim_clear_autocmds({ group = group })
    end,
  })
  M.refresh(buf)
end

-- Switches heat on or off, or to a style.
---@param what 'on'|'off'|'toggle'|perfline.Style
function M.show(what)
  if what == 'toggle' then
    chosen.enabled = not setting('enabled')
  else
    chosen.enabled = what ~= 'off'
    if what ~= 'on' and what ~= 'off' then chosen.style = what end
  end
  M.refresh_all()
end

-- Makes heat relative to something else.
---@param scope perfline.Scope
---@param first integer? of a selection, from 1
---@param last integer?
function M.relative(scope, first, last)
  chosen.scope = scope
  local buf = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_clear_namespace(buf, selections, 0, -1)
  if scope == 'range' and first and last then
    vim.api.nvim_buf_set_extmark(buf, selections, first - 1, 0, { end_row = last - 1, right_gravity = false })
  end
  M.refresh_all()
end

-- The share of the current scope: for tests and for configurations that draw it themselves.
---@return perfline.Scope
function M.scope() return setting('scope') end

return M
