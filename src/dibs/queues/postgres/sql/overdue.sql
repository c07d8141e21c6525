-- Leases that have run out, with who held them. Few at a time: their records may be large.
SELECT t.id, t.epoch, t.attempts, t.deaths, t.holder, t.until IS NOT NULL AND t.at >= t.until,
       t.record, h.host, h.machine, h.boot, h.since
FROM {schema}.tasks t LEFT JOIN {schema}.holders h ON h.queue = t.queue AND h.session = t.holder
WHERE t.queue = %(queue)s AND {which}
ORDER BY t.at
LIMIT 100
