-- What is due stands among the scheduled until a claimer meets it. ARGV: the time, offset, count.
-- Returns id and place in line (flat).
local reply = {}
local ids = redis.call('ZRANGEBYSCORE', at('scheduled'), '-inf', ARGV[1], 'LIMIT', ARGV[2], ARGV[3])
for _, id in ipairs(ids) do
  local text = redis.call('HGET', at('cells'), id) or ''
  reply[#reply + 1], reply[#reply + 2] = id, string.match(text, ' place=(%d+)') or '0'
end
return reply
