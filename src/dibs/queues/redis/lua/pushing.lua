-- Pushing a task that is more than plain.

local function owner_of(key, unique)
  local last = redis.call('HGET', at('keys'), key)
  local state = last and state_of(last)
  if live(state) or (state == 'completed' and unique == 'completed') then
    return last
  end
  if state == 'completed' then
    redis.call('HSET', at('done'), key, last)
  elseif unique == 'completed' then
    local before = redis.call('HGET', at('done'), key)
    if before and state_of(before) == 'completed' then
      return before
    end
  end
  return nil
end

local function push(time, id, record, facet, described, key, unique, not_before, more)
  local state = state_of(id)
  if state then
    return state  -- asked before, and the answer was lost
  end
  if key ~= '' then
    local owner = owner_of(key, unique)
    if owner then
      return view(owner)
    end
    redis.call('HSET', at('keys'), key, id)
  end
  if described ~= '' then
    redis.call('HSETNX', at('facets'), facet, described)
  end
  local due, place = tonumber(not_before), place_in_line(facet, time)
  local score, words = place, ' place=' .. whole(place)
  if string.find(more, '"after":', 1, true) and must_wait(id, cjson.decode(more)) then
    state, score = 'blocked', time
  elseif due > time then
    state, score = 'scheduled', due
    words = words .. ' due=' .. not_before
  else
    state = 'ready'
  end
  redis.call('HSET', at('tasks'), id, record)
  redis.call('HSET', at('cells'), id, state .. words .. (more ~= '' and ' ' .. more or ''))
  enter(id, facet, state, score)
  if state == 'scheduled' then
    woken = woken or redis.call('ZRANK', at('scheduled'), id) == 0
  end
  return state
end

local function states_of(ids)
  local states = {}
  for i, id in ipairs(ids) do
    states[i] = state_of(id) or 'completed'  -- and deleted since
  end
  return states
end
