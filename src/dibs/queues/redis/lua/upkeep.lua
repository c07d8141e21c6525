-- What a claimer does now and then, or with a filter.

local FORGOTTEN = 86400 * 1000000

local function ids_until(state, time, count)
  return redis.call('ZRANGEBYSCORE', at(state), '-inf', whole(time), 'LIMIT', 0, count)
end

-- What ran out and what is due, a few more than `limit`; true when there may be more of it.
local function take_back(limit, time, jitter, freeing)
  local most = limit + FEW
  local silent, due = ids_until('claimed', time, most), ids_until('scheduled', time, most)
  freeing = freeing and redis.call('SRANDMEMBER', at('freeing'))
  for _, id in ipairs(silent) do
    local cell = read(id)
    if cell then
      expire(id, cell, time, 'fell silent', jitter, '')
    else
      redis.call('ZREM', at('claimed'), id)
    end
  end
  for _, id in ipairs(due) do
    local cell = read(id)
    if cell then
      stand_by(id, cell, time, 0)
    else
      redis.call('ZREM', at('scheduled'), id)
    end
  end
  if freeing then
    free_waiting(freeing, time)
  end
  return #silent == most or #due == most or freeing
end

-- What is past its retention, and workers of long ago; and whether things are as usual again.
local function tidy(time, retention)
  if retention > 0 then
    for _, state in ipairs({ 'completed', 'cancelled' }) do
      local old = redis.call('ZRANGEBYSCORE', at(state), '-inf', whole(time - retention), 'LIMIT', 0, FEW)
      for _, id in ipairs(old) do
        remove(id, state)
      end
    end
  end
  relax()
  local flat = redis.call('HGETALL', at('workers'))
  for i = 1, #flat, 2 do
    local since = tonumber(string.match(flat[i + 1], '^{"at":(%d+),') or time)
    if since < time - FORGOTTEN then
      redis.call('HDEL', at('workers'), flat[i])
    end
  end
end

-- Workers of this boot (flat).
local function near(boot)
  local flat, found = redis.call('HGETALL', at('workers')), {}
  for i = 1, #flat, 2 do
    if string.find(flat[i + 1], boot, 1, true) then
      found[#found + 1], found[#found + 2] = flat[i], flat[i + 1]
    end
  end
  return found
end

-- The best of the wanted facets (id and place of each), whose codes, from ARGV[i] on, come in groups of one priority.
local function first_of_facets(i, limit)
  local found = {}
  while i <= #ARGV and #found < 2 * limit do
    local priority = string.match(ARGV[i], '^%d+')
    local group = {}
    while ARGV[i] and string.match(ARGV[i], '^%d+') == priority do
      local heads = redis.call('ZRANGE', at('ready:' .. ARGV[i]), 0, limit - #found / 2 - 1, 'WITHSCORES')
      for j = 1, #heads, 2 do
        group[#group + 1] = { tonumber(heads[j + 1]), heads[j] }
      end
      i = i + 1
    end
    table.sort(group, function(a, b)
      return a[1] < b[1] or (a[1] == b[1] and a[2] < b[2])
    end)
    for _, head in ipairs(group) do
      if #found < 2 * limit then
        found[#found + 1], found[#found + 2] = head[2], head[1]
      end
    end
  end
  return found
end
