-- ARGV: id, the facet seen, the new one, its record ('' when plain), and the task's record with the new priority.
-- Returns ok and the task's view, or why not: changed, when it is not as seen. Sent again, it finds that it was done.
local id, seen, facet = ARGV[1], ARGV[2], ARGV[3]
local cell = read(id)
if not cell or cell.state == 'leaving' then
  return { 'gone', cell and cell.to or nil }
end
if not live(cell.state) or cell.state == 'claimed' then
  return { 'refused', cell.state }
end
if cell.facet ~= facet then
  if cell.facet ~= seen then
    return { 'changed' }
  end
  local score = redis.call('ZSCORE', at(cell.state), id)
  cell.place = whole(cell.place - priority_line(cell.facet) + priority_line(facet))
  if cell.state == 'ready' then
    score = cell.place
  end
  if ARGV[4] ~= '' then
    redis.call('HSETNX', at('facets'), facet, ARGV[4])
  end
  leave(id, cell.facet, cell.state)
  cell.facet = facet
  write(id, cell)
  redis.call('HSET', at('tasks'), id, ARGV[5])
  enter(id, facet, cell.state, score)
end
return done({ 'ok', view(id) })
