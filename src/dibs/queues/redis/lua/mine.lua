-- What was claimed under one holder's name, for a claim whose answer was lost. ARGV: holder, offset, count.
-- Returns how many were looked at, and the tasks as `claim` does.
local ids = redis.call('ZRANGE', at('claimed'), ARGV[2], ARGV[2] + ARGV[3] - 1)
local tasks = {}
for _, id in ipairs(ids) do
  local cell = read(id)
  if cell and cell.holder == ARGV[1] then
    tasks[#tasks + 1] = { id, cell.epoch, cell.attempts or '0', cell.deaths or '0', cell.max_runtime or '',
      redis.call('GET', base .. ':record:' .. id) }
  end
end
return { #ids, tasks }
