-- ARGV, eight for each task: id, record, facet's code, facet's record ('' when plain), key, unique, not_before, and
-- the other fields of its cell (JSON). Returns for each its state, or the view of the task that has its key.
local time = now()
local reply = {}

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

local function push(id, record, facet, described, key, unique, not_before, more)
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
  local cell = { facet = facet, pushed = whole(time) }
  local fields = { 'facet', facet, 'pushed', cell.pushed }
  if more ~= '' then
    for name, value in pairs(cjson.decode(more)) do
      cell[name] = value
      fields[#fields + 1], fields[#fields + 2] = name, value
    end
  end
  local due = tonumber(not_before)
  local score
  if cell.after and must_wait(id, cell) then
    state, score = 'blocked', time
  elseif due > time then
    state, score = 'scheduled', due
    fields[#fields + 1], fields[#fields + 2] = 'due', not_before
  else
    state, score = 'ready', place_in_line(facet, time)
  end
  redis.call('SET', base .. ':record:' .. id, record)
  redis.call('HSET', base .. ':task:' .. id, 'state', state, unpack(fields))
  enter(id, facet, state, score)
  if state == 'scheduled' then
    woken = woken or redis.call('ZRANK', at('scheduled'), id) == 0
  end
  return state
end

for i = 1, #ARGV, 8 do
  reply[#reply + 1] = push(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5], ARGV[i + 6],
    ARGV[i + 7])
end
return done(reply)
