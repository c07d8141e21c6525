-- What there is to a completion besides the cell.

local ended, freeing = {}, {}

-- Counts, history, and whom it may free. Returns what of the cell is to stay.
local function look_closer(id, text, event, time)
  local cell = parse(text)
  if not ended[id] then
    ended[id] = true
    count('claimed', cell.facet, -1)
    count('completed', cell.facet, 1)
    if event then
      note(id, time, event)
    end
    freeing[#freeing + 1] = id
    freeing[#freeing + 1] = cell.key
  end
  local brace = string.find(text, ' {', 1, true)
  return brace and string.sub(text, brace) or ''
end

local function free_those(time)
  if redis.call('EXISTS', at('blocked')) == 1 then
    for _, ref in ipairs(freeing) do
      free_waiting(ref, time)
    end
  end
end

-- Nothing when it was this very step that ended it before.
local function refused(id, by)
  local cell = read(id)
  if not (cell and cell.by == by) then
    return refusal(id, cell)
  end
end
