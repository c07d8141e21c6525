-- Claiming, for the scripts that do: ARGV from `first` on is
--   limit, ttl, holder, its boot, upkeep, and, unless it is known who claims and any task will do:
--   first place in line that is wanted, facets known (-1: any task is wanted), worker's record ('' when it is known),
--   its machine, then the codes of wanted facets, highest priority first.
-- Upkeep is 0 for none unless too little is ready, 1 for what ran out or is due, 2 for what is old too, and a look at
-- the workers. `written` are cells to write, from a completion that goes before.
-- Returns the records of the tasks, and when not all are plain and claimed for the first time, for each '' or epoch,
-- attempts, deaths and max_runtime; and, when it had to look further: paused (1 or 0), microseconds until something is
-- due or runs out ('' for never), facets (flat) when there are others than those known, workers of this boot (flat;
-- nothing when not looked for).
local function claim(first, time, written)
  local call, key = redis.call, base .. ':cells'
  local limit, ttl, holder = tonumber(ARGV[first]), ARGV[first + 1], ARGV[first + 2]
  local heads, search = {}, nil  -- id and place of each; what was found out besides
  if ARGV[first + 4] == '0' and not ARGV[first + 5] and not call('HGET', key, 'unusual') then
    heads = call('ZPOPMIN', base .. ':ready', limit)
  else
    search = rest().search(first, time, heads, false)
  end
  if not search and (#heads == 0 or #heads < 2 * limit) then
    search = rest().search(first, time, heads, true)
  end

  local ids, records, standings, found = {}, {}, nil, 0
  if #heads > 0 then
    for i = 1, #heads / 2 do
      ids[i] = heads[2 * i - 1]
    end
    records = call('HMGET', base .. ':tasks', unpack(ids))
    local cells = call('HMGET', key, unpack(ids))
    local since, ends = string.format('%d', time), string.format('%d', time + ttl * DRIFT)
    local words = ' holder=' .. holder .. ' ttl=' .. ttl .. ' since=' .. since
    local plain = 'claimed epoch=1' .. words .. ' place='
    local claimed, w = {}, #written
    for i = 1, #ids do
      local id, record, text, last = ids[i], records[i], nil, ends
      if cells[i] then
        local standing
        text, last, standing = rest().take(id, cells[i], record, words, time, ttl)
        standings = standings or {}
        standings[found + 1] = standing
      else
        text = plain .. heads[2 * i]
      end
      if record then  -- else evicted: there is nothing left of it
        found = found + 1
        records[found] = record
        claimed[2 * found - 1], claimed[2 * found] = last, id
        written[w + 1], written[w + 2] = id, text
        w = w + 2
      end
    end
    for i = found + 1, #ids do
      records[i] = nil
    end
    if found > 0 then
      call('ZADD', base .. ':claimed', unpack(claimed))
    end
  end
  if #written > 0 then
    call('HSET', key, unpack(written))
  end
  for i = 1, standings and found or 0 do
    standings[i] = standings[i] or ''
  end
  if search then
    return { records, standings or {}, unpack(rest().outlook(first, time, search, found)) }
  end
  return { records, standings }
end
