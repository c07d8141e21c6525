-- Completes one task and claims the next. ARGV: five as in completing.lua, then as in claiming.lua.
-- Returns ok and what `claim` does, or the refusal alone: then nothing is claimed.
local time = now()
local reply = complete(1, 5, time)
if reply[1][1] == 'ok' then
  reply[2] = claim(6, time)
end
return done(reply)
