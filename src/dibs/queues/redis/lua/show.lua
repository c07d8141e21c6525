-- ARGV: id or key. Returns the task's view, its history, when its lease runs out, its worker's record, what it waits
-- for with their states (flat), why the queue is paused (nothing when it is not), and the time.
local id = resolve(ARGV[1])
local cell = id and read(id)
if not cell then
  return {}
end
if cell.state == 'leaving' then
  return { cell.to }
end
local ends, worker, waits = '', '', {}
if cell.state == 'claimed' then
  ends = redis.call('ZSCORE', at('claimed'), id) or ''
  worker = redis.call('HGET', at('workers'), worker_of(cell.holder)) or ''
end
for _, ref in ipairs(waits_for(cell)) do
  waits[#waits + 1] = ref
  waits[#waits + 1] = state_of_ref(ref) or 'unknown'
end
local paused = redis.call('HGET', at('meta'), 'paused')
return { view(id), redis.call('LRANGE', base .. ':history:' .. id, 0, -1), ends, worker, waits,
  paused and { paused } or {}, whole(now()) }
