-- Deletes what has departed: by this very departure, not by a later one. ARGV, two for each: id, and when it departed.
for i = 1, #ARGV, 2 do
  local cell = read(ARGV[i])
  if cell and cell.state == 'leaving' and cell.departed == ARGV[i + 1] then
    remove(ARGV[i], 'leaving')
  end
end
return done('ok')
