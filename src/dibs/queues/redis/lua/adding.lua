-- The usual push: one plain task. One that is there already was asked for before, and the answer was lost.
if ARGV[1] == '1' and not ARGV[4] then
  local call, id, ready = redis.call, ARGV[2], base .. ':ready'
  if call('HSETNX', base .. ':tasks', id, ARGV[3]) == 1 then
    local start = (9999 - PLAIN) * LINE
    call('ZADD', ready, string.format('%d', start + math.floor(now() / 1000) - LINE_START), id)
    if call('ZCOUNT', ready, string.format('%d', start), '+inf') == 1 then  -- news, see push.lua
      redis.pcall('PUBLISH', base .. ':wake', 1)
    end
    return { 1 }
  end
end
