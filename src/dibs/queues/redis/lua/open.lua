-- ARGV: format, retention, created, by, create (1 or 0). Returns format, retention; nothing when there is no queue.
local meta = at('meta')
if redis.call('EXISTS', meta) == 0 then
  if ARGV[5] ~= '1' then
    return {}
  end
  redis.call('HSET', meta, 'format', ARGV[1], 'retention', ARGV[2], 'created', ARGV[3], 'by', ARGV[4])
end
return redis.call('HMGET', meta, 'format', 'retention')
