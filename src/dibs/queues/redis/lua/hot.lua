-- What the scripts that run for every task stand on: the rest is made only when something unusual is to be done.
local loaded

local function rest()
  if not loaded then
    -- REST --
  end
  return loaded
end
