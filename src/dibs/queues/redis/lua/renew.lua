-- ARGV: id, epoch, holder, and who beats for it: pid ('' for the holder itself) and start. Returns ok with the
-- microseconds left.
local id, epoch, holder = ARGV[1], ARGV[2], ARGV[3]
local cell = read(id)
local time = now()
if not held_as(cell, epoch, holder) then
  return refusal(id, cell)
end
if tonumber(redis.call('ZSCORE', at('claimed'), id)) <= time then
  return refusal(id, cell)
end
local left = tonumber(cell.ttl)
if cell.max_runtime then
  left = math.min(left, cell.since + cell.max_runtime - time)
end
local ends = time + cell.ttl * DRIFT
if cell.max_runtime then
  ends = math.min(ends, cell.since + cell.max_runtime)
end
redis.call('ZADD', at('claimed'), whole(ends), id)
cell.beat = whole(time)
write(id, cell)
if ARGV[4] ~= '' then
  local entry = redis.call('HGET', at('workers'), worker_of(holder))
  local known = entry and cjson.decode(entry)
  if known and known.guard == cjson.null then
    local guarded = string.format('"guard":%d,"guard_start":%s', ARGV[4], cjson.encode(ARGV[5]))
    entry = string.gsub(entry, '"guard":null,"guard_start":""', guarded, 1)
    redis.call('HSET', at('workers'), worker_of(holder), entry)
  end
end
return { 'ok', whole(left) }
