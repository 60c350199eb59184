-- Whether the rockspec of a folder lists the Lua modules and the folders that are there. Called by `nvim -l`.
local folder = _G.arg[1]

local path = vim.fn.glob(folder .. '/*.rockspec', true, true)[1]
local spec = {}
setfenv(assert(loadfile(path)), spec)()

local modules = {}
for _, file in ipairs(vim.fn.globpath(folder .. '/lua', '**/*.lua', true, true)) do
  local relative = file:sub(#folder + 2)
  local name = relative:gsub('^lua/', ''):gsub('%.lua$', ''):gsub('/init$', ''):gsub('/', '.')
  modules[name] = relative
end
local folders = {}
for name, kind in vim.fs.dir(folder) do
  if kind == 'directory' and name ~= 'lua' and name ~= 'tests' then folders[#folders + 1] = name end
end
table.sort(folders)

local there = { modules = modules, copy_directories = folders }
for name, expected in pairs(there) do
  if not vim.deep_equal(spec.build[name], expected) then
    print(('%s: build.%s is to be %s'):format(path, name, vim.inspect(expected)))
    os.exit(1)
  end
end
