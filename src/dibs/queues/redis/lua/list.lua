-- ARGV: state, offset, count, `newest` for the other way round, and of the scheduled: those that are due later than
-- that. Returns for each the task's view, when its lease runs out, and its worker's record.
local reply, ids = {}, nil
if ARGV[5] then
  ids = redis.call('ZRANGEBYSCORE', at(ARGV[1]), '(' .. ARGV[5], '+inf', 'LIMIT', ARGV[2], ARGV[3])
else
  ids = redis.call(ARGV[4] == 'newest' and 'ZREVRANGE' or 'ZRANGE', at(ARGV[1]), ARGV[2], ARGV[2] + ARGV[3] - 1)
end
for _, id in ipairs(ids) do
  local ends, worker = '', ''
  if ARGV[1] == 'claimed' then
    ends = redis.call('ZSCORE', at('claimed'), id) or ''
    worker = redis.call('HGET', at('workers'), worker_of((read(id) or {}).holder)) or ''
  end
  reply[#reply + 1] = { view(id), ends, worker }
end
return reply
