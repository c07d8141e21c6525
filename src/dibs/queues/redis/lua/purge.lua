-- ARGV: state, the time before which it ended (+inf: any), count, offset. Returns how many were looked at and deleted.
local ids = redis.call('ZRANGEBYSCORE', at(ARGV[1]), '-inf', ARGV[2], 'LIMIT', ARGV[4], ARGV[3])
local removed = 0
for _, id in ipairs(ids) do
  if remove(id, ARGV[1]) then
    removed = removed + 1
  end
end
relax()
return done({ #ids, removed })
