-- ARGV: nonce, id, epoch, holder, delay. Returns ok or the refusal.
local cell = read(ARGV[2])
if held_as(cell, ARGV[3], ARGV[4]) then
  local time = now()
  cell.by = ARGV[1]
  stand_by(ARGV[2], cell, time, ARGV[5] == '0' and 0 or time + ARGV[5])
elseif not (cell and cell.by == ARGV[1]) then
  return refusal(ARGV[2], cell)
end
return done({ 'ok' })
