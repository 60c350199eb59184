-- The recordings that were loaded lately, newest first, also in earlier sessions.
local M = {}

local KEPT = 20
local path = vim.fs.joinpath(vim.fn.stdpath('state') --[[@as string]], 'perfline', 'recent.json')

-- Each entry is the paths of one run.
---@return string[][]
function M.list()
  local file = io.open(path)
  if not file then return {} end
  local good, entries = pcall(vim.json.decode, file:read('*a'))
  file:close()
  return good and type(entries) == 'table' and entries or {}
end

---@param inputs perfline.Input[]
function M.add(inputs)
  local paths = vim.tbl_map(function(it) return it.path end, inputs)
  local entries = M.list()
  if #paths == 0 or vim.deep_equal(entries[1], paths) then return end
  entries = vim.tbl_filter(function(it) return not vim.deep_equal(it, paths) end, entries)
  table.insert(entries, 1, paths)
  vim.fn.mkdir(vim.fs.dirname(path), 'p')
  local file = io.open(path, 'w')
  if not file then return end
  file:write(vim.json.encode(vim.list_slice(entries, 1, KEPT)))
  file:close()
end

return M
