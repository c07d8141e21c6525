-- ARGV: how many leases to look at for their workers. Returns counts and facets (flat), the number of workers, and why
-- the queue is paused (nothing when it is not).
local workers, number = {}, 0
for _, id in ipairs(redis.call('ZRANGE', at('claimed'), 0, ARGV[1] - 1)) do
  local worker = worker_of(string.match(redis.call('HGET', at('cells'), id) or '', ' holder=(%S+)'))
  if not workers[worker] then
    workers[worker] = true
    number = number + 1
  end
end
local counts, plain = {}, {}
for _, state in ipairs({ 'ready', 'scheduled', 'blocked', 'claimed', 'completed', 'failed', 'cancelled' }) do
  plain[state] = redis.call('ZCARD', at(state))
end
local flat = redis.call('HGETALL', at('counts'))
for i = 1, #flat, 2 do
  local state, facet = string.match(flat[i], '^(%l+):(.*)$')
  if facet ~= PLAIN then
    counts[#counts + 1], counts[#counts + 2] = flat[i], flat[i + 1]
    plain[state] = plain[state] and plain[state] - flat[i + 1]
  end
end
for state, number in pairs(plain) do
  counts[#counts + 1], counts[#counts + 2] = state .. ':' .. PLAIN, whole(number)
end
local paused = redis.call('HGET', at('meta'), 'paused')
return { counts, redis.call('HGETALL', at('facets')), number, paused and { paused } or {} }
