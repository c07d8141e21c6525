-- ARGV: how many leases to look at for their workers. Returns counts and facets (flat), the number of workers, and why
-- the queue is paused (nothing when it is not).
local workers, number = {}, 0
for _, id in ipairs(redis.call('ZRANGE', at('claimed'), 0, ARGV[1] - 1)) do
  local worker = worker_of(redis.call('HGET', base .. ':task:' .. id, 'holder'))
  if not workers[worker] then
    workers[worker] = true
    number = number + 1
  end
end
local paused = redis.call('HGET', at('meta'), 'paused')
return { redis.call('HGETALL', at('counts')), redis.call('HGETALL', at('facets')), number, paused and { paused } or {} }
