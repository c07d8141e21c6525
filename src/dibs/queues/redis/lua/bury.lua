-- A worker's process is gone: what it held goes back. ARGV: worker, its record as it was judged, offset, count, jitter.
-- Returns how many leases were looked at, and how many were its own; nothing when the record has changed.
local worker = ARGV[1]
if redis.call('HGET', at('workers'), worker) ~= ARGV[2] then
  return {}
end
local ids = redis.call('ZRANGE', at('claimed'), ARGV[3], ARGV[3] + ARGV[4] - 1)
local time = now()
local own = 0
for _, id in ipairs(ids) do
  local cell = read(id)
  if cell and worker_of(cell.holder) == worker then
    expire(id, cell, time, 'died', tonumber(ARGV[5]), '')
    own = own + 1
  end
end
if #ids < tonumber(ARGV[4]) then
  redis.call('HDEL', at('workers'), worker)
end
return done({ #ids, own })
