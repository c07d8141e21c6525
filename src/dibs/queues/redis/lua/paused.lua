-- The reason; nothing when it is not paused.
local paused = redis.call('HGET', at('meta'), 'paused')
return paused and { paused } or {}
