-- ARGV: nonce, id or key. Returns ok and the task's view, or why not.
local id = resolve(ARGV[2])
local cell = id and read(id)
if not cell or cell.state == 'leaving' then
  return { 'gone', cell and cell.to or nil }
end
local time = now()
if live(cell.state) then
  if cell.state == 'claimed' then
    note(id, time, cjson.encode({ epoch = tonumber(cell.epoch), what = 'cancelled', worker = worker_of(cell.holder) }))
    cell.epoch = whole(cell.epoch + 1)
  end
  forget_waits(id, cell)
  cell.by = ARGV[1]
  stand(id, cell, 'cancelled', time)
elseif cell.by ~= ARGV[1] then
  return { 'refused', cell.state }
end
return done({ 'ok', view(id) })
