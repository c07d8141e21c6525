-- ARGV: nonce, id or key. Returns ok and the task's view, or why not.
local id = resolve(ARGV[2])
local cell = id and read(id)
if not cell or cell.state == 'leaving' then
  return { 'gone', cell and cell.to or nil }
end
if cell.state == 'failed' or cell.state == 'cancelled' then
  if cell.key then
    local other = redis.call('HGET', at('keys'), cell.key)
    local state = other and other ~= id and state_of(other)
    if live(state) then
      return { 'taken', other, cell.key }
    end
    if state == 'completed' then
      redis.call('HSET', at('done'), cell.key, other)
    end
    redis.call('HSET', at('keys'), cell.key, id)
  end
  cell.attempts, cell.deaths, cell.by = nil, nil, ARGV[1]
  stand_by(id, cell, now(), 0)
elseif cell.by ~= ARGV[1] then
  return { 'refused', cell.state }
end
return done({ 'ok', view(id) })
