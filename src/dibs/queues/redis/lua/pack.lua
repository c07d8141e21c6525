-- ARGV: ids. Returns for each that is there its view and history.
local reply = {}
for _, id in ipairs(ARGV) do
  if state_of(id) then
    reply[#reply + 1] = { view(id), redis.call('LRANGE', base .. ':history:' .. id, 0, -1) }
  end
end
return reply
