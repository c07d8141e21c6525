-- Completing, for the scripts that do: ARGV from `first` to `last` are groups of those that were claimed together: how
-- many, their lease (`epoch=E holder=H`), the nonce, told (1 or 0), and for each its id and, when told, an event.
-- Returns nothing when all are completed, else for each ok or the refusal; and the cells that are still to be written.
local function complete(first, last, time)
  local call, key, sub, byte = redis.call, base .. ':cells', string.sub, string.byte
  local ended, written, answers, before, unusual = string.format('%d', time), {}, nil, 0, false
  while first <= last do
    local many, lease, by, step = tonumber(ARGV[first]), ARGV[first + 1], ARGV[first + 2], ARGV[first + 3] + 1
    local held, text = 'claimed ' .. lease .. ' ', 'completed ' .. lease .. ' by=' .. by
    local length, ids, gone, completed, number = #held, {}, {}, {}, 0
    if #written > 0 then
      call('HSET', key, unpack(written))
      written = {}
    end
    for i = 1, many do
      ids[i] = ARGV[first + 4 + (i - 1) * step]
    end
    ids[many + 1] = 'unusual'
    local cells = call('HMGET', key, unpack(ids))
    unusual = cells[many + 1]
    for i = 1, many do
      local id, cell = ids[i], cells[i]
      if cell and sub(cell, 1, length) == held then
        number = number + 1
        gone[number] = id
        completed[2 * number - 1], completed[2 * number] = ended, id
        written[2 * number - 1], written[2 * number] = id, text
        if unusual or step == 2 or byte(cell, -1) == 125 then  -- a brace: it has more than words
          written[2 * number] = text .. rest().look_closer(id, cell, step == 2 and ARGV[first + 3 + 2 * i], time)
        end
      else
        local answer = rest().refused(id, by)
        if answer then
          answers = answers or {}
          answers[before + i] = answer
        end
      end
    end
    if number > 0 then
      call('ZREM', base .. ':claimed', unpack(gone))
      call('ZADD', base .. ':completed', unpack(completed))
    end
    before, first = before + many, first + 4 + many * step
  end
  if unusual and #written > 0 then
    call('HSET', key, unpack(written))
    rest().free_those(time)
    written = {}
  end
  for i = 1, answers and before or 0 do
    answers[i] = answers[i] or { 'ok' }
  end
  return answers, written
end
