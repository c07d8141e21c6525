-- Deletes what has departed: by this very departure, not by a later one. ARGV, two for each: id, and when it departed.
for i = 1, #ARGV, 2 do
  local cell = redis.call('HMGET', base .. ':task:' .. ARGV[i], 'state', 'departed')
  if cell[1] == 'leaving' and cell[2] == ARGV[i + 1] then
    remove(ARGV[i], 'leaving')
  end
end
return done('ok')
