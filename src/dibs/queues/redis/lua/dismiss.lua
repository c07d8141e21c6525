-- Deletes what has departed. ARGV: ids.
for _, id in ipairs(ARGV) do
  if state_of(id) == 'leaving' then
    remove(id, 'leaving')
  end
end
return done('ok')
