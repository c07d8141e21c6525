-- Claiming, for the scripts that do: ARGV from `first` on is
--   limit, ttl, holder, jitter, worker's record ('' when it is known), its machine, its boot, upkeep,
--   first place in line that is wanted, facets known (-1: any task is wanted), then the codes of wanted facets, highest
--   priority first.
-- Upkeep is 0 for none unless too little is ready, 1 for what ran out or is due, 2 for what is old too, and a look at the
-- workers. Returns: paused (1 or 0), microseconds until something is due or runs out ('' for never), facets (flat) when
-- there are others than those known, workers of this boot (flat; nothing when not looked for), and for each task id,
-- epoch, attempts, deaths, its max_runtime and its record.
local FORGOTTEN = 86400 * 1000000

local function claim(first, time)
  local limit, ttl, holder, jitter = tonumber(ARGV[first]), tonumber(ARGV[first + 1]), ARGV[first + 2], ARGV[first + 3]
  local introduction, machine, boot = ARGV[first + 4], ARGV[first + 5], ARGV[first + 6]
  local upkeep, start, known = tonumber(ARGV[first + 7]), ARGV[first + 8], tonumber(ARGV[first + 9])
  local meta = redis.call('HMGET', at('meta'), 'paused', 'freeing', 'retention')

  if introduction ~= '' then
    local record = string.format('{"at":%.0f,', time) .. string.sub(introduction, 2)
    redis.call('HSET', at('workers'), worker_of(holder), record)
    redis.call('HSET', at('boots'), machine, boot)
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
        expire(id, cell, time, 'fell silent', tonumber(jitter), '')
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
      if string.find(flat[i + 1], boot, 1, true) then
        found[#found + 1], found[#found + 2] = flat[i], flat[i + 1]
      end
    end
    return found
  end

  -- The best of the wanted facets, which come in groups of one priority.
  local function first_of_facets(limit)
    local found = {}
    local i = first + 10
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

  -- Ids, taken out of the line; and the facets, when the claimer does not know all.
  local function pick(limit)
    local ids = {}
    if meta[1] or limit == 0 then
      return ids
    elseif known < 0 and start == '-inf' then
      local heads = redis.call('ZPOPMIN', at('ready'), limit)
      for i = 1, #heads, 2 do
        ids[#ids + 1] = heads[i]
      end
      return ids
    elseif known < 0 then
      ids = redis.call('ZRANGEBYSCORE', at('ready'), start, '+inf', 'LIMIT', 0, limit)
    elseif known ~= redis.call('HLEN', at('facets')) then
      return ids, redis.call('HGETALL', at('facets'))
    else
      ids = first_of_facets(limit)
    end
    if #ids > 0 then
      redis.call('ZREM', at('ready'), unpack(ids))
    end
    return ids
  end

  local more = upkeep > 0 and take_back()
  local ids, facets = pick(limit)
  if #ids < math.max(limit, 1) and not facets and upkeep == 0 then
    more = take_back()
    for _, id in ipairs((pick(limit - #ids))) do
      ids[#ids + 1] = id
    end
  end

  -- Spelled out, not by `stand`: this, and its like in `complete`, are the hot ones.
  local since, ends, claimed, tasks = whole(time), whole(time + ttl * DRIFT), {}, {}
  for _, id in ipairs(ids) do
    local key = base .. ':task:' .. id
    local cell = redis.call('HMGET', key, 'facet', 'epoch', 'attempts', 'deaths', 'max_runtime')
    local record = redis.call('GET', base .. ':record:' .. id)
    local facet, longest = cell[1], cell[5]
    if facet then
      count('ready', facet, -1)
      if string.find(facet, '-', 1, true) then
        redis.call('ZREM', at('ready:' .. facet), id)
      end
    end
    if facet and record then  -- else evicted: there is nothing left of it
      local epoch = whole((cell[2] or 0) + 1)
      redis.call('HSET', key, 'state', 'claimed', 'epoch', epoch, 'holder', holder, 'ttl', ARGV[first + 1], 'since', since,
        'beat', since)
      count('claimed', facet, 1)
      local last = longest and longest + 0 < ttl * DRIFT and whole(time + longest) or ends
      claimed[#claimed + 1], claimed[#claimed + 2] = last, id
      tasks[#tasks + 1] = { id, epoch, cell[3] or '0', cell[4] or '0', longest or '', record }
    end
  end
  if #tasks > 0 then
    redis.call('ZADD', at('claimed'), unpack(claimed))
  end
  woken = woken and not meta[1] and redis.call('EXISTS', at('ready')) == 1

  if upkeep == 2 then
    tidy()
  end
  local workers = (upkeep == 2 or #tasks == 0) and near()

  local wait = ''
  if #tasks == 0 then
    if more or facets then
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
  return { meta[1] and '1' or '0', wait, facets or {}, workers, tasks }
end
