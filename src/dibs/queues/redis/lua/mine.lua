-- What was claimed under one holder's name, for a claim whose answer was lost. ARGV: holder, offset, count.
-- Returns how many were looked at, and records and standings as `claim` does.
local ids = redis.call('ZRANGE', at('claimed'), ARGV[2], ARGV[2] + ARGV[3] - 1)
local records, standings = {}, {}
for _, id in ipairs(ids) do
  local cell = read(id)
  if cell and cell.holder == ARGV[1] then
    records[#records + 1], standings[#standings + 1] = redis.call('HGET', at('tasks'), id), standing(cell)
  end
end
return { #ids, records, standings }
