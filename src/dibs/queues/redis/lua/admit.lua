-- Lets one task in as it stood. ARGV: id, record, facet's code and record, key ('' when it is not to have one), unique,
-- pushed, state, score, other fields of its cell (JSON), then its history.
-- Returns added, there, leaving, or taken and by which task.
local id, facet, key, state = ARGV[1], ARGV[3], ARGV[5], ARGV[8]
local there = state_of(id)
if there then
  return { there == 'leaving' and 'leaving' or 'there' }
end
local time = now()
local cell = cjson.decode(ARGV[10])
if key ~= '' then
  local other = redis.call('HGET', at('keys'), key)
  local holds = other and state_of(other)
  if live(state) then
    if live(holds) or (holds == 'completed' and ARGV[6] == 'completed') then
      return { 'taken', other }
    end
    if holds == 'completed' then
      redis.call('HSET', at('done'), key, other)
    end
    redis.call('HSET', at('keys'), key, id)
  elseif not holds then
    redis.call('HSET', at('keys'), key, id)
  end
end
if ARGV[4] ~= '' then
  redis.call('HSETNX', at('facets'), facet, ARGV[4])
end
local score = tonumber(ARGV[9])
if state == 'blocked' and not must_wait(id, cell) then
  score = tonumber(cell.not_before or 0)
  state = score > time and 'scheduled' or 'ready'
  cell.due = whole(score)
end
cell.place = whole(place_in_line(facet, tonumber(ARGV[7])))
if state == 'ready' then
  score = cell.place
end
cell.state, cell.facet = state, facet
redis.call('HSET', at('tasks'), id, ARGV[2])
write(id, cell)
for i = 11, #ARGV do
  redis.call('RPUSH', base .. ':history:' .. id, ARGV[i])
end
enter(id, facet, state, score)
if state == 'completed' then
  free_waiting(id, time)
  if key ~= '' then
    free_waiting(key, time)
  end
end
return done({ 'added' })
