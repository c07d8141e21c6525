-- ARGV: nonce, id, epoch, holder, event, retry (1 or 0), jitter. Returns ok or the refusal.
local id = ARGV[2]
local cell = read(id)
if held_as(cell, ARGV[3], ARGV[4]) then
  local time = now()
  local most = ARGV[6] == '1' and tonumber(cell.max_attempts or 3) or 0
  fail(id, cell, time, most, tonumber(ARGV[7]), ARGV[1])
  note(id, time, ARGV[5])
elseif not (cell and cell.by == ARGV[1]) then
  return refusal(id, cell)
end
return done({ 'ok' })
