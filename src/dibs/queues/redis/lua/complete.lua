-- ARGV as in completing.lua. Returns 1 when all are completed, else ok, or the refusal, for each.
local answers, written = complete(1, #ARGV, now())
if #written > 0 then
  redis.call('HSET', base .. ':cells', unpack(written))
end
return loaded and loaded.done(answers or 1) or 1
