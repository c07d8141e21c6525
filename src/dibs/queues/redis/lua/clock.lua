-- The server's time, in microseconds since 1970: the one clock that all users of the queue share.
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
