-- The lease is over though it is still there. ARGV: nonce, id, epoch, holder, verdict, jitter.
local cell = read(ARGV[2])
if held_as(cell, ARGV[3], ARGV[4]) then
  expire(ARGV[2], cell, now(), ARGV[5], tonumber(ARGV[6]), ARGV[1])
end
return done(refusal(ARGV[2], cell))
