-- How a task moves from state to state, and what is asked of several of them.

local function state_of(id)
  local text = redis.call('HGET', at('cells'), id)
  if text then
    return string.match(text, '^%l+')
  end
  return redis.call('ZSCORE', at('ready'), id) and 'ready'
end

local function live(state)
  return state == 'ready' or state == 'scheduled' or state == 'blocked' or state == 'claimed'
end

local function priority_line(facet)
  return (9999 - tonumber(string.match(facet, '^%d+'))) * LINE
end

local function place_in_line(facet, pushed)
  return priority_line(facet) + math.floor(pushed / 1000) - LINE_START
end

-- Steps look closer from now on.
local function beware()
  redis.call('HSET', at('cells'), 'unusual', 1)
end

-- The reverse, when nothing calls for it any more.
local function relax()
  if redis.call('EXISTS', at('blocked'), at('freeing')) == 0 and redis.call('HEXISTS', at('meta'), 'paused') == 0 then
    redis.call('HDEL', at('cells'), 'unusual')
  end
end

local function enter(id, facet, state, score)
  score = whole(score)
  redis.call('ZADD', at(state), score, id)
  if state == 'ready' then
    -- Whoever waits found nothing that it wants: of this priority or lower, or of this facet. More of it is no news.
    woken = woken or redis.call('ZCOUNT', at('ready'), whole(priority_line(facet)), '+inf') == 1
    if string.find(facet, '-', 1, true) then
      redis.call('ZADD', at('ready:' .. facet), score, id)
      woken = woken or redis.call('ZCARD', at('ready:' .. facet)) == 1
    end
  elseif state == 'blocked' then
    beware()
  end
  count(state, facet, 1)
end

local function leave(id, facet, state)
  if redis.call('ZREM', at(state), id) == 1 then
    count(state, facet, -1)
  end
  if state == 'ready' and string.find(facet, '-', 1, true) then
    redis.call('ZREM', at('ready:' .. facet), id)
  end
end

local KEPT = { claimed = { 'holder', 'ttl', 'since', 'beat' }, completed = { 'holder' }, scheduled = { 'due' } }
KEPT.leaving = { 'holder', 'due' }

local function stand(id, cell, state, score)
  leave(id, cell.facet, cell.state)
  local kept = {}
  for _, name in ipairs(KEPT[state] or {}) do
    kept[name] = cell[name]
  end
  for _, name in ipairs({ 'holder', 'ttl', 'since', 'beat', 'due' }) do
    cell[name] = kept[name]
  end
  cell.state = state
  write(id, cell)
  enter(id, cell.facet, state, score)
end

-- Ready now, or at `due`.
local function stand_by(id, cell, time, due)
  if due > time then
    cell.due = whole(due)
    stand(id, cell, 'scheduled', due)
    woken = woken or redis.call('ZRANK', at('scheduled'), id) == 0  -- earlier than they know
  else
    stand(id, cell, 'ready', cell.place)
  end
end

local function held_as(cell, epoch, holder)
  return cell and cell.state == 'claimed' and cell.epoch == epoch and cell.holder == holder
end

local function backoff(cell, attempts, jitter)
  local first, longest = tonumber(cell.backoff or 1), tonumber(cell.max_backoff or 3600)
  local full = math.min(longest, first * 2 ^ math.min(attempts - 1, 60))
  return math.floor(full * (0.5 + jitter / 2) * 1000000)
end

-- One attempt more: dead-lettered when there are none left, else it waits. Returns nothing.
local function fail(id, cell, time, max_attempts, jitter, by)
  local attempts = tonumber(cell.attempts or 0) + 1
  cell.attempts, cell.by = whole(attempts), by
  if attempts >= max_attempts then
    stand(id, cell, 'failed', time)
  else
    stand_by(id, cell, time, time + backoff(cell, attempts, jitter))
  end
end

-- The holder is gone: "died" (seen), or "fell silent" (its time ran out).
local function expire(id, cell, time, verdict, jitter, by)
  local worker = worker_of(cell.holder)
  local event = { epoch = tonumber(cell.epoch), worker = worker }
  local ends = tonumber(redis.call('ZSCORE', at('claimed'), id) or 0)
  if verdict == 'fell silent' and cell.max_runtime and ends >= cell.since + cell.max_runtime - 1000 then
    event.what = 'timed out'
    event.error = string.format('held longer than its max_runtime of %g s', cell.max_runtime / 1000000)
    fail(id, cell, time, tonumber(cell.max_attempts or 3), jitter, by)
  else
    local entry = redis.call('HGET', at('workers'), worker)
    local known = entry and cjson.decode(entry) or {}
    if verdict == 'fell silent' and known.machine then
      local boot = redis.call('HGET', at('boots'), known.machine)
      if boot and boot ~= string.match(known.boot, '^[^/]*') then
        verdict = 'lost its host'
      end
    end
    event.what = verdict
    event.error = 'worker ' .. worker .. (known.host and ' on ' .. known.host or '')
      .. ' ' .. verdict .. ' while holding it'
    local deaths = tonumber(cell.deaths or 0)
    if verdict ~= 'lost its host' then
      deaths = deaths + 1
    end
    cell.deaths, cell.by = whole(deaths), by
    if verdict ~= 'lost its host' and deaths >= tonumber(cell.max_deaths or 5) then
      stand(id, cell, 'failed', time)
    else
      stand_by(id, cell, time, 0)
    end
  end
  note(id, time, cjson.encode(event))
end

local function is_id(ref)
  return #ref == 32 and not string.find(ref, '[^0-9a-f]')
end

local function resolve(ref)
  if is_id(ref) then
    return ref
  end
  return redis.call('HGET', at('keys'), ref) or redis.call('HGET', at('done'), ref)
end

local function state_of_ref(ref)
  local id = resolve(ref)
  return id and state_of(id)
end

local function waits_for(cell)
  return cell.after and cjson.decode(cell.after) or {}
end

-- Points from each unmet dependency to the task; false when all are completed.
local function must_wait(id, cell)
  local unmet = false
  for _, ref in ipairs(waits_for(cell)) do
    if state_of_ref(ref) ~= 'completed' then
      redis.call('SADD', at('waits:' .. ref), id)
      unmet = true
    end
  end
  return unmet
end

local function forget_waits(id, cell)
  for _, ref in ipairs(waits_for(cell)) do
    redis.call('SREM', at('waits:' .. ref), id)
  end
end

-- What waited for a completed task, a few at a time; the rest is left to later claims.
local function free_waiting(ref, time)
  local key = at('waits:' .. ref)
  if redis.call('EXISTS', key) == 0 then
    return
  end
  if state_of_ref(ref) == 'completed' then
    for _, id in ipairs(redis.call('SPOP', key, FEW)) do
      local cell = read(id)
      if cell and cell.state == 'blocked' and not must_wait(id, cell) then
        stand_by(id, cell, time, tonumber(cell.not_before or 0))
      end
    end
    if redis.call('EXISTS', key) == 1 then
      redis.call('SADD', at('freeing'), ref)
      redis.call('HSET', at('meta'), 'freeing', 1)
      beware()
      return
    end
  end
  redis.call('SREM', at('freeing'), ref)
  if redis.call('EXISTS', at('freeing')) == 0 then
    redis.call('HDEL', at('meta'), 'freeing')
  end
end

-- Id, cell (flat; nothing when there is no such task) and record.
local function view(id)
  local cell, flat = read(id), {}
  if cell then
    if cell.state == 'completed' or cell.state == 'failed' or cell.state == 'cancelled' then
      cell.ended = redis.call('ZSCORE', at(cell.state), id) or nil
    end
    for name, value in pairs(cell) do
      flat[#flat + 1], flat[#flat + 2] = name, value
    end
  end
  return { id, flat, redis.call('HGET', at('tasks'), id) or '' }
end

-- A claimed task as `claim` tells of it: epoch, attempts, deaths, and its max_runtime or a dash.
local function standing(cell)
  return cell.epoch .. ' ' .. (cell.attempts or '0') .. ' ' .. (cell.deaths or '0') .. ' ' .. (cell.max_runtime or '-')
end

local function refusal(id, cell)
  if not cell then
    return { 'gone' }
  end
  local host = ''
  local entry = redis.call('HGET', at('workers'), worker_of(cell.holder))
  if entry then
    host = cjson.decode(entry).host
  end
  return { 'lost', cell.state, cell.epoch or '0', worker_of(cell.holder), host }
end

-- Deletes an ended task; false while somebody still has to be freed by it.
local function remove(id, state)
  if redis.call('EXISTS', at('waits:' .. id)) == 1 and state == 'completed' then
    return false
  end
  local cell = read(id)
  if cell then
    leave(id, cell.facet, cell.state)
    if cell.key then
      for _, names in ipairs({ 'keys', 'done' }) do
        if redis.call('HGET', at(names), cell.key) == id then
          redis.call('HDEL', at(names), cell.key)
        end
      end
    end
  else
    redis.call('ZREM', at(state), id)
  end
  redis.call('HDEL', at('tasks'), id)
  redis.call('HDEL', at('cells'), id)
  redis.call('DEL', base .. ':history:' .. id)
  return true
end
