-- What a claimer does when there is more to it than to take the first in line.

-- Adds to `heads` what it finds; `looked` when the head of the line is there already, and was not enough.
local function search(first, time, heads, looked)
  local limit, holder, upkeep = tonumber(ARGV[first]), ARGV[first + 2], ARGV[first + 4]
  local start, known, introduction = ARGV[first + 5] or '-inf', tonumber(ARGV[first + 6] or -1), ARGV[first + 7] or ''
  local meta = redis.call('HMGET', at('meta'), 'paused', 'freeing', 'retention')
  local found = { paused = meta[1], retention = tonumber(meta[3] or 0) * 1000000 }

  if introduction ~= '' then
    local record = string.format('{"at":%.0f,', time) .. string.sub(introduction, 2)
    redis.call('HSET', at('workers'), worker_of(holder), record)
    redis.call('HSET', at('boots'), ARGV[first + 8], ARGV[first + 3])
  end

  -- Takes out of the line; and the facets, when the claimer does not know all.
  local function pick()
    local left, some = limit - #heads / 2, {}
    if meta[1] or left == 0 then
      return
    elseif known >= 0 then
      if known ~= redis.call('HLEN', at('facets')) then
        found.facets = redis.call('HGETALL', at('facets'))
        return
      end
      some = first_of_facets(first + 9, left)
    elseif start == '-inf' then
      some = redis.call('ZPOPMIN', at('ready'), left)
    else
      some = redis.call('ZRANGEBYSCORE', at('ready'), start, '+inf', 'WITHSCORES', 'LIMIT', 0, left)
    end
    for i = 1, #some, 2 do
      heads[#heads + 1], heads[#heads + 2] = some[i], some[i + 1]
      if known >= 0 or start ~= '-inf' then
        redis.call('ZREM', at('ready'), some[i])
      end
    end
  end

  local function look_back()
    local jitter = tonumber(string.match(holder, '%d+$')) / 9007199254740992  -- it ends with 53 random bits
    found.more = take_back(limit, time, jitter, meta[2])
  end

  if upkeep ~= '0' or looked then
    look_back()
  end
  pick()
  if upkeep == '0' and not looked and not found.facets and (#heads == 0 or #heads < 2 * limit) then
    look_back()
    pick()
    found.facets = nil
  end
  found.tidy = upkeep == '2'
  return found
end

-- A task that has a cell is taken: its new cell, when the lease runs out, and its standing.
local function take(id, text, record, words, time, ttl)
  local cell = parse(text)
  count('ready', cell.facet, -1)
  if string.find(cell.facet, '-', 1, true) then
    redis.call('ZREM', at('ready:' .. cell.facet), id)
  end
  if not record then
    return
  end
  cell.epoch = whole((cell.epoch or 0) + 1)
  count('claimed', cell.facet, 1)
  local lasts = ttl * DRIFT
  if cell.max_runtime and cell.max_runtime + 0 < lasts then
    lasts = cell.max_runtime
  end
  cell.state = 'claimed'
  for name, value in string.gmatch(words, '(%l+)=(%S+)') do
    cell[name] = value
  end
  cell.beat = nil
  return compose(cell), whole(time + lasts), standing(cell)
end

-- What else there is to tell a claimer that had to search.
local function outlook(first, time, search, found)
  woken = woken and not search.paused and redis.call('EXISTS', at('ready')) == 1
  if search.tidy then
    tidy(time, search.retention)
  end
  local wait = ''
  if found == 0 then
    if search.more or search.facets then
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
  local workers = (search.tidy or found == 0) and near(ARGV[first + 3])
  return { search.paused and '1' or '0', wait, search.facets or {}, workers }
end
