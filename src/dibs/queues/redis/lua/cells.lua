-- A task's cell, read and written; and what every script ends with.

local WORDS = { 'epoch', 'holder', 'ttl', 'since', 'beat', 'place', 'due', 'by' }

local woken = false         -- there is something for claimers who wait
local counted = {}          -- changes of `counts`, written once, by `done`

local function at(name)
  return base .. ':' .. name
end

local function whole(number)
  return string.format('%d', number)
end

local function parse(text)
  local brace = string.find(text, ' {', 1, true)
  local cell = brace and cjson.decode(string.sub(text, brace + 1)) or {}
  cell.state = string.match(text, '^%l+')
  for name, value in string.gmatch(brace and string.sub(text, 1, brace - 1) or text, '(%l+)=(%S+)') do
    cell[name] = value
  end
  cell.beat = cell.beat or cell.since
  cell.facet = cell.facet or PLAIN
  return cell
end

local function compose(cell)
  local words, more, written = { cell.state }, {}, { state = true }
  for _, name in ipairs(WORDS) do
    local value = cell[name]
    local fits = value and not string.find(value, '%s')
    if fits and value ~= '' then
      words[#words + 1] = name .. '=' .. value
    end
    written[name] = fits
  end
  for name, value in pairs(cell) do
    if not written[name] and (name ~= 'facet' or value ~= PLAIN) then
      more[name] = value
    end
  end
  if next(more) then
    words[#words + 1] = cjson.encode(more)
  end
  return table.concat(words, ' ')
end

local function write(id, cell)
  redis.call('HSET', at('cells'), id, compose(cell))
end

local function read(id)
  local text = redis.call('HGET', at('cells'), id)
  if text then
    return parse(text)
  end
  local place = redis.call('ZSCORE', at('ready'), id)
  return place and { state = 'ready', facet = PLAIN, place = place } or nil
end

-- The plainest tasks are most of them. Those are not counted: `stats` finds them as what the others leave of a state.
local function count(state, facet, number)
  if facet == PLAIN then
    return
  end
  local name = state .. ':' .. facet
  counted[name] = (counted[name] or 0) + number
end

local function note(id, time, event)
  local key = base .. ':history:' .. id
  local length = redis.call('RPUSH', key, string.format('{"at":%.3f,', time / 1000000) .. string.sub(event, 2))
  if length > LONGEST_HISTORY then
    redis.call('LTRIM', key, -LONGEST_HISTORY, -1)
  end
end

local function worker_of(holder)
  return string.match(holder or '', '^(.*)%.%d+$') or holder or ''
end

-- The last thing every script that changes something does: counts, and word for those who wait.
local function done(reply)
  for name, number in pairs(counted) do
    if number ~= 0 then
      redis.call('HINCRBY', at('counts'), name, number)
    end
  end
  if woken then
    redis.pcall('PUBLISH', at('wake'), 1)
  end
  return reply
end
