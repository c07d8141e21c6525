-- ARGV: how many are plain, and two for each of those: id and record; then eight for each of the others: id, record,
-- facet's code, facet's record ('' when plain), key, unique, not_before, and the rest of its cell (JSON, '' for none).
-- Returns 1 when all plain ones are new, else their states; and for each of the others its state, or the view of the
-- task that has its key.
local time, many = now(), tonumber(ARGV[1])
local call, reply = redis.call, { 1 }
if many > 0 then
  local start = (9999 - PLAIN) * LINE
  local place = string.format('%d', start + math.floor(time / 1000) - LINE_START)
  local ids, records, line = {}, {}, {}
  for i = 1, many do
    local id = ARGV[2 * i]
    ids[i] = id
    records[2 * i - 1], records[2 * i] = id, ARGV[2 * i + 1]
    line[2 * i - 1], line[2 * i] = place, id
  end
  local before = call('HMGET', base .. ':tasks', unpack(ids))
  for i = 1, many do
    if before[i] then  -- asked before, and the answer was lost: all of them are there
      reply[1] = rest().states_of(ids)
      break
    end
  end
  if reply[1] == 1 then
    call('HSET', base .. ':tasks', unpack(records))
    call('ZADD', base .. ':ready', unpack(line))
    -- Whoever waits found nothing of this priority or lower. More of it is no news.
    if call('ZCOUNT', base .. ':ready', string.format('%d', start), '+inf') == many then
      redis.pcall('PUBLISH', base .. ':wake', 1)
    end
  end
end
for i = 2 + 2 * many, #ARGV, 8 do
  reply[#reply + 1] = rest().push(time, unpack(ARGV, i, i + 7))
end
return loaded and loaded.done(reply) or reply
