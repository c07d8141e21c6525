-- Claiming, for the scripts that do: ARGV from `first` on is
--   limit, ttl, holder, jitter, worker's record ('' when it is known), its machine, its boot, upkeep,
--   first place in line that is wanted, facets known (-1: any task is wanted), then the codes of wanted facets, highest
--   priority first.
-- Upkeep is 0 for none unless too little is ready, 1 for what ran out or is due, 2 for what is old too, and a look at the
-- workers. Returns: paused (1 or 0), microseconds until something is due or runs out ('' for never), facets (flat) when
-- there are others than those known, workers of this boot (flat; nothing when not looked for), and for each task id,
-- epoch, attempts, deaths, its max_runtime and its record.
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
      ids = moves().first_of_facets(first + 10, limit)
    end
    if #ids > 0 then
      redis.call('ZREM', at('ready'), unpack(ids))
    end
    return ids
  end

  local function take_back()
    return moves().take_back(limit, time, tonumber(jitter), meta[2])
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
    moves().tidy(time, tonumber(meta[3] or 0) * 1000000)
  end
  local workers = (upkeep == 2 or #tasks == 0) and moves().near(boot)

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
