-- What the server knows of a line, as lines of text: prose wrapped, tables with columns that line up.
local M = {}

---@class perfline.Mark
---@field row integer from 0
---@field first integer byte column from 0
---@field last integer
---@field group string

---@class perfline.Section
---@field kind 'title'|'text'|'table'
---@field text string?
---@field head string[]?
---@field rows string[][]?

-- The first column is text, the others are numbers.
---@param rows string[][]
---@return string[]
local function aligned(rows)
  local widths = {}
  for _, row in ipairs(rows) do
    for column, it in ipairs(row) do
      widths[column] = math.max(widths[column] or 0, vim.fn.strdisplaywidth(it))
    end
  end
  return vim.tbl_map(function(row)
    local parts = {}
    for column, it in ipairs(row) do
      local space = (' '):rep(widths[column] - vim.fn.strdisplaywidth(it))
      parts[column] = column == 1 and it .. space or space .. it
    end
    return (table.concat(parts, '  '):gsub('%s+$', ''))
  end, rows)
end

-- Prose in lines of `width` at most.
---@param text string
---@param width integer
---@return string[]
local function wrapped(text, width)
  local lines, line = {}, ''
  for word in text:gmatch('%S+') do
    if line ~= '' and vim.fn.strdisplaywidth(line) + 1 + vim.fn.strdisplaywidth(word) > width then
      lines[#lines + 1], line = line, ''
    end
    line = line == '' and word or line .. ' ' .. word
  end
  lines[#lines + 1] = line
  return lines
end

---@param sections perfline.Section[]
---@param width integer of prose; tables are as wide as they are
---@return string[] lines, perfline.Mark[] marks
function M.lines(sections, width)
  local lines, marks = {}, {}
  local function mark(row, group) marks[#marks + 1] = { row = row, first = 0, last = #lines[row + 1], group = group } end
  for _, section in ipairs(sections) do
    if #lines > 0 then lines[#lines + 1] = '' end
    local first = #lines
    if section.kind == 'table' then
      vim.list_extend(lines, aligned(vim.list_extend({ section.head }, section.rows)))
      mark(first, 'Comment')
    else
      for _, line in ipairs(vim.split(section.text, '\n')) do
        vim.list_extend(lines, wrapped(line, width))
      end
      if section.kind == 'title' then mark(first, 'Title') end
    end
  end
  return lines, marks
end

return M
