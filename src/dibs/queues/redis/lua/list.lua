-- ARGV: state, offset, count, `newest` for the other way round. Returns for each the task's view, when its lease runs out, and its worker's record.
local reply, range = {}, ARGV[4] == 'newest' and 'ZREVRANGE' or 'ZRANGE'
for _, id in ipairs(redis.call(range, at(ARGV[1]), ARGV[2], ARGV[2] + ARGV[3] - 1)) do
  local ends, worker = '', ''
  if ARGV[1] == 'claimed' then
    ends = redis.call('ZSCORE', at('claimed'), id) or ''
    worker = redis.call('HGET', at('workers'), worker_of((read(id) or {}).holder)) or ''
  end
  reply[#reply + 1] = { view(id), ends, worker }
end
return reply
