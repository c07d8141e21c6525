-- Where things are kept, for all scripts.
--
--   tasks        hash: id -> the task as it was pushed (JSON; only its priority ever changes)
--   cells        hash: id -> where it stands: its state, then `name=value` words (epoch, holder, ttl, since, beat,
--                place, due, by), then what few have as JSON (facet, key, after, limits, attempts, deaths). A plain
--                task that is ready and was never claimed has none: its place in line says all
--   history:ID   how its leases ended
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
-- Among the cells, `unusual` is there while the queue is paused or something is blocked or being freed: then steps look
-- closer.

local base = KEYS[1]
local LINE = 1099511627776  -- milliseconds in one priority's part of the line: 2^40, 34 years
local LINE_START = 1700000000000
local DRIFT = 1.02          -- a holder's clock may run this much slower than the server's
local LONGEST_HISTORY = 50
local FEW = 100             -- of anything done besides what was asked
local PLAIN = '50'          -- the facet of a task of normal priority, without project and labels
