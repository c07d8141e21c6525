-- ARGV: limit, ttl, holder, jitter, worker's record ('' when it is known), its machine, its boot, upkeep (1 or 0),
-- first place in line that is wanted, facets known (-1: any task is wanted), then the codes of wanted facets, highest
-- priority first.
-- Returns: paused (1 or 0), microseconds until something is due or runs out ('' for never), facets (flat) when there
-- are others than those known, workers of this boot (flat; nothing when not looked for), and for each task id, epoch, attempts, deaths, its
-- max_runtime and its record.
local limit, ttl, holder, jitter = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local FORGOTTEN = 86400 * 1000000
local time = now()
local meta = redis.call('HMGET', at('meta'), 'paused', 'freeing', 'retention')

if ARGV[5] ~= '' then
  local record = string.format('{"at":%.0f,', time) .. string.sub(ARGV[5], 2)
  redis.call('HSET', at('workers'), worker_of(holder), record)
  redis.call('HSET', at('boots'), ARGV[6], ARGV[7])
end

local function ids_until(state, count)
  return redis.call('ZRANGEBYSCORE', at(state), '-inf', whole(time), 'LIMIT', 0, count)
end

-- What ran out and what is due; true when there may be more of it.
local function take_back()
  local most = limit + FEW
  local silent, due = ids_until('claimed', most), ids_until('scheduled', most)
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
  local freeing = meta[2] and redis.call('SRANDMEMBER', at('freeing'))
  if freeing then
    free_waiting(freeing, time)
  end
  return #silent == most or #due == most or freeing
end

-- What is past its retention, and workers of long ago.
local function tidy()
  local retention = tonumber(meta[3] or 0) * 1000000
  if retention > 0 then
    for _, state in ipairs({ 'completed', 'cancelled' }) do
      local old = redis.call('ZRANGEBYSCORE', at(state), '-inf', whole(time - retention), 'LIMIT', 0, FEW)
      for _, id in ipairs(old) do
        remove(id, state)
      end
    end
  end
  local flat = redis.call('HGETALL', at('workers'))
  for i = 1, #flat, 2 do
    local since = tonumber(string.match(flat[i + 1], '^{"at":(%d+),') or time)
    if since < time - FORGOTTEN then
      redis.call('HDEL', at('workers'), flat[i])
    end
  end
end

-- Workers of this boot (flat).
local function near()
  local flat, found = redis.call('HGETALL', at('workers')), {}
  for i = 1, #flat, 2 do
    if string.find(flat[i + 1], ARGV[7], 1, true) then
      found[#found + 1], found[#found + 2] = flat[i], flat[i + 1]
    end
  end
  return found
end

-- The best of the wanted facets, which come in groups of one priority.
local function first_of_facets()
  local found = {}
  local i = 11
  while i <= #ARGV and #found < limit do
    local priority = string.match(ARGV[i], '^%d+')
    local group = {}
    while ARGV[i] and string.match(ARGV[i], '^%d+') == priority do
      local heads = redis.call('ZRANGE', at('ready:' .. ARGV[i]), 0, limit - #found - 1, 'WITHSCORES')
      for j = 1, #heads, 2 do
        group[#group + 1] = { tonumber(heads[j + 1]), heads[j] }
      end
      i = i + 1
    end
    table.sort(group, function(a, b)
      return a[1] < b[1] or (a[1] == b[1] and a[2] < b[2])
    end)
    for _, head in ipairs(group) do
      if #found < limit then
        found[#found + 1] = head[2]
      end
    end
  end
  return found
end

local more = take_back()
local facets, tasks, workers = {}, {}, false
local known = tonumber(ARGV[10])
local ids = {}
if meta[1] then
  woken = false
elseif known < 0 then
  ids = redis.call('ZRANGEBYSCORE', at('ready'), ARGV[9], '+inf', 'LIMIT', 0, limit)
elseif known ~= redis.call('HLEN', at('facets')) then
  facets, more = redis.call('HGETALL', at('facets')), true
else
  ids = first_of_facets()
end

-- Spelled out, not by `stand`: this, and its like in `complete`, are the hot ones.
local since, ends, claimed = whole(time), whole(time + ttl * DRIFT), {}
for _, id in ipairs(ids) do
  local key = base .. ':task:' .. id
  local cell = redis.call('HMGET', key, 'facet', 'epoch', 'attempts', 'deaths', 'max_runtime')
  local record = redis.call('GET', base .. ':record:' .. id)
  local facet, longest = cell[1], cell[5]
  if facet and record then
    local epoch = whole((cell[2] or 0) + 1)
    redis.call('HSET', key, 'state', 'claimed', 'epoch', epoch, 'holder', holder, 'ttl', ARGV[2], 'since', since,
      'beat', since)
    if string.find(facet, '-', 1, true) then
      redis.call('ZREM', at('ready:' .. facet), id)
    end
    count('ready', facet, -1)
    count('claimed', facet, 1)
    local last = longest and longest + 0 < ttl * DRIFT and whole(time + longest) or ends
    claimed[#claimed + 1], claimed[#claimed + 2] = last, id
    tasks[#tasks + 1] = { id, epoch, cell[3] or '0', cell[4] or '0', longest or '', record }
  elseif facet then
    leave(id, facet, 'ready')  -- evicted: there is nothing left of it
  end
end
if #ids > 0 then
  redis.call('ZREM', at('ready'), unpack(ids))
end
if #tasks > 0 then
  redis.call('ZADD', at('claimed'), unpack(claimed))
end
woken = woken and redis.call('EXISTS', at('ready')) == 1

if ARGV[8] == '1' then
  tidy()
end
if ARGV[8] == '1' or #tasks == 0 then
  workers = near()
end

local wait = ''
if #tasks == 0 then
  if more then
    wait = '0'
  else
    local nearest
    for _, state in ipairs({ 'claimed', 'scheduled' }) do
      local head = redis.call('ZRANGE', at(state), 0, 0, 'WITHSCORES')
      if head[2] and (not nearest or tonumber(head[2]) < nearest) then
        nearest = tonumber(head[2])
      end
    end
    wait = nearest and whole(nearest - time) or ''
  end
end
return done({ meta[1] and '1' or '0', wait, facets, workers, tasks })
