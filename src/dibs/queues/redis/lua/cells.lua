-- What every script stands on: where things are kept, and how a task's cell moves from state to state.
--
--   task:ID      hash: state, epoch, attempts, deaths, facet, pushed; key, after, limits; holder, ttl, since, beat; by
--   record:ID    the task as it was pushed (JSON; only its priority ever changes); history:ID how its leases ended
--   ready, scheduled, blocked, claimed, completed, failed, cancelled
--                sorted sets of ids: by place in line, due, push, expiry, end. A task is always in exactly one;
--                one that was moved away is in `leaving`, until it is known to be where it goes
--   ready:FACET  the same place in line, for those with a project or labels
--   waits:REF    ids of those that wait for REF; freeing: REFs whose waiting ones are not all freed yet
--   keys, done   key -> its last task, and the last that completed before that one
--   workers      who claims: name -> JSON; boots: machine -> its last boot
--   facets, counts, meta; the channel `wake` tells that something became ready
--
-- Times are whole microseconds of the server. `by` is the nonce of the last step: who asks again finds its own there.

local base = KEYS[1]
local LINE = 1099511627776  -- milliseconds in one priority's part of the line: 2^40, 34 years
local LINE_START = 1700000000000
local DRIFT = 1.02          -- a holder's clock may run this much slower than the server's
local LONGEST_HISTORY = 50
local FEW = 100             -- of anything done besides what was asked
local PLAIN = '50'          -- the facet of a task of normal priority, without project and labels

local woken = false         -- there is something for claimers who wait
local counted = {}          -- changes of `counts`, written once, by `done`

local function at(name)
  return base .. ':' .. name
end

local function whole(number)
  return string.format('%.0f', number)
end

local function read(id)
  local flat = redis.call('HGETALL', base .. ':task:' .. id)
  if #flat == 0 then
    return nil
  end
  local cell = {}
  for i = 1, #flat, 2 do
    cell[flat[i]] = flat[i + 1]
  end
  return cell
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
