-- ARGV: how many leases to look at for their workers, and how many of those that are due. Returns counts and facets
-- (flat), the number of workers, why the queue is paused (nothing when it is not), and of the scheduled how many of
-- which facet are due (flat).
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
local ids = redis.call('ZRANGEBYSCORE', at('scheduled'), '-inf', whole(now()), 'LIMIT', 0, ARGV[2])
local by_facet, due = {}, {}
for first = 1, #ids, 1000 do
  for _, text in ipairs(redis.call('HMGET', at('cells'), unpack(ids, first, math.min(first + 999, #ids)))) do
    local facet = string.match(text or '', '"facet":"([^"]*)"') or PLAIN
    by_facet[facet] = (by_facet[facet] or 0) + 1
  end
end
for facet, many in pairs(by_facet) do
  due[#due + 1], due[#due + 2] = facet, whole(many)
end
return { counts, redis.call('HGETALL', at('facets')), number, paused and { paused } or {}, due }
