-- How numbers are written beside lines and in lists.
local client = require('perfline.client')
local config = require('perfline.config')

local M = {}

-- Which of the formats is in use.
local current = 1

-- What a hint says if it is to give the value of a metric alone.
local values = {
  cpu = '{cpu} cpu',
  cuda = '{cuda} gpu',
  backward = '{backward} bwd',
  wait = '{wait} wait ×{waits}',
  idle = '{idle} gpu idle',
  comm = '{comm} comm',
  memory = '{peak}',
}

---@return string
function M.name() return config.options.formats[current] or 'auto' end

---@param line { mark: string, shareText: string, text: string } as the server words them
---@return string
function M.line(line)
  local name = M.name()
  if name == 'value' then return line.mark .. line.text end
  if name == 'share' then return line.mark .. line.shareText end
  return ('%s%s  %s'):format(line.mark, line.text, line.shareText)
end

-- The server's setting for hints.
---@return string
local function template()
  local name = M.name()
  if name == 'share' then return '{share}' end
  if name == 'value' then
    local status = client.status()
    return values[status and status.view.effectiveMetric] or 'auto'
  end
  return name
end

-- The format that the server was sent last; it uses its own until then.
---@type string?
local sent

-- Sends the server how hints are to be written, if that is something else now: the value is that of the metric in use.
function M.send()
  local now = template()
  if now == (sent or 'auto') then return end
  sent = now
  for _, server in ipairs(vim.lsp.get_clients({ name = 'perfline' })) do
    client.configure(server, { hints = { format = now } })
  end
end

-- Takes the named format, or the next.
---@param name string?
function M.set(name)
  local formats = config.options.formats
  if name and not vim.tbl_contains(formats, name) then formats[#formats + 1] = name end
  repeat
    current = current % #formats + 1
  until not name or formats[current] == name
  M.send()
  require('perfline.heat').refresh_all()
  client.say('format ' .. M.name())
end

return M
