-- A task by id, or by the key that it has or had last; everything but its payload is small.
SELECT t.id, t.state, t.epoch, t.attempts, t.deaths, t.holder, t.at, t.since, t.renewed, t.until,
       t.ttl, t.beat, {schema}.store_time(), t.record, t.history, h.host, h.boot, h.pid, t.moved_to
FROM {schema}.tasks t LEFT JOIN {schema}.holders h ON h.queue = t.queue AND h.session = t.holder
WHERE t.queue = %(queue)s AND {which}
ORDER BY t.state IN ('ready', 'scheduled', 'blocked', 'claimed') DESC, t.keyed DESC, t.id DESC
LIMIT 1
