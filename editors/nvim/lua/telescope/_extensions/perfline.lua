-- `:Telescope perfline [hot|functions|findings]`
local function pick(items, title, given) require('perfline.pick').telescope(items, title, given) end

---@param given table? options of telescope's picker
local function hot(given)
  require('perfline.hot').list({}, function(items, title) pick(items, title, given or {}) end)
end

return require('telescope').register_extension({
  exports = {
    perfline = hot,
    hot = hot,
    functions = function(given)
      require('perfline.hot').list_functions({}, function(items, title) pick(items, title, given or {}) end)
    end,
    findings = function(given)
      require('perfline.findings').items(function(items, title) pick(items, title, given or {}) end)
    end,
  },
})
