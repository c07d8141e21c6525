-- Leases that have run out, with who held them.
SELECT t.id, t.epoch, t.attempts, t.deaths, t.holder, t.until IS NOT NULL AND t.expires >= t.until,
       t.max_attempts, t.max_deaths, t.max_runtime, t.backoff, t.max_backoff,
       h.host, h.machine, h.boot, h.since
FROM {schema}.tasks t LEFT JOIN {schema}.holders h ON h.queue = t.queue AND h.session = t.holder
WHERE t.queue = %(queue)s AND {which}
ORDER BY t.expires
LIMIT 500
