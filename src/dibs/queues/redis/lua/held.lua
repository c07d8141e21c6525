-- ARGV: id, epoch, holder. Returns ok with the microseconds for which it is held, by its last beat.
local cell = read(ARGV[1])
if not held_as(cell, ARGV[2], ARGV[3]) then
  return refusal(ARGV[1], cell)
end
local time = now()
local left = cell.beat + cell.ttl - time
if cell.max_runtime then
  left = math.min(left, cell.since + cell.max_runtime - time)
end
return { 'ok', whole(left) }
