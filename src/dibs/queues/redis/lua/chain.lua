-- Completes one task and claims the next. ARGV as in completing.lua for one lease, then as in claiming.lua.
-- Returns 1 and what `claim` does, or the refusal alone: then nothing is claimed.
local time = now()
local last = 5 + ARGV[4]
local reply, written = complete(1, last, time)
if not reply then
  reply = { 1, claim(last + 1, time, written) }
end
return loaded and loaded.done(reply) or reply
