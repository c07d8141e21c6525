-- The usual link of a chain: a plain task is completed, without a result, and the first in line is plain and new. All
-- other ways find things as if this had not been tried.
if ARGV[4] == '0' and ARGV[10] == '0' and not ARGV[11] then
  local call, cells, id, lease = redis.call, base .. ':cells', ARGV[5], ARGV[2]
  local held = 'claimed ' .. lease .. ' '
  local found = call('HMGET', cells, id, 'unusual')
  local cell = found[1]
  if cell and not found[2] and string.sub(cell, 1, #held) == held and string.byte(cell, -1) ~= 125 then
    local ready = base .. ':ready'
    local head = call('ZPOPMIN', ready)
    local following = head[1]
    if following then
      local record = call('HGET', base .. ':tasks', following)
      if record and not call('HGET', cells, following) then
        local time, ttl, claimed = now(), ARGV[7], base .. ':claimed'
        local text = string.format('%d', time)
        call('ZREM', claimed, id)
        call('ZADD', base .. ':completed', text, id)
        call('ZADD', claimed, string.format('%d', time + ttl * DRIFT), following)
        call('HSET', cells, id, 'completed ' .. lease .. ' by=' .. ARGV[3], following,
          'claimed epoch=1 holder=' .. ARGV[8] .. ' ttl=' .. ttl .. ' since=' .. text .. ' place=' .. head[2])
        return { 1, { { record } } }
      end
      call('ZADD', ready, head[2], following)
    end
  end
end
