-- Completing, for the scripts that do: ARGV from `first` to `last`, five for each lease: nonce, id, epoch, holder, and an
-- event ('' when there is no more to tell than the cell does). Returns ok, or the refusal, for each.
local function complete(first, last, time)
  local ended = whole(time)
  local reply, gone, completed, freeing = {}, {}, {}, {}
  local anybody_waits = redis.call('EXISTS', at('blocked')) == 1
  for i = first, last, 5 do
    local by, id = ARGV[i], ARGV[i + 1]
    local key = base .. ':task:' .. id
    local cell = redis.call('HMGET', key, 'state', 'epoch', 'holder', 'facet', 'key', 'by')
    local answer = { 'ok' }
    if cell[1] == 'claimed' and cell[2] == ARGV[i + 2] and cell[3] == ARGV[i + 3] then
      redis.call('HSET', key, 'state', 'completed', 'ended', ended, 'by', by)
      if ARGV[i + 4] ~= '' then
        note(id, time, ARGV[i + 4])
      end
      gone[#gone + 1] = id
      completed[#completed + 1], completed[#completed + 2] = ended, id
      count('claimed', cell[4], -1)
      count('completed', cell[4], 1)
      if anybody_waits then
        freeing[#freeing + 1] = id
        freeing[#freeing + 1] = cell[5] or nil
      end
    elseif cell[6] ~= by then
      answer = moves().refusal(id, read(id))
    end
    reply[#reply + 1] = answer
  end
  if #gone > 0 then
    redis.call('ZREM', at('claimed'), unpack(gone))
    redis.call('ZADD', at('completed'), unpack(completed))
  end
  if #freeing > 0 then
    local moving = moves()
    for _, ref in ipairs(freeing) do
      moving.free_waiting(ref, time)
    end
  end
  return reply
end
