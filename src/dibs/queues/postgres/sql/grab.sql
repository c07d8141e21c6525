-- A claim that asks for nothing else: the usual one while there is work.
UPDATE {schema}.tasks t
SET state = 'claimed', epoch = t.epoch + 1, holder = %(session)s, due = 0, ended = 0,
    since = now.at, renewed = now.at, beat = %(sent)s, ttl = %(ttl)s, until = now.at + t.max_runtime,
    expires = least(now.at + %(lasts)s, now.at + t.max_runtime)
FROM (SELECT {schema}.store_time() AS at OFFSET 0) now
WHERE t.queue = %(queue)s AND t.id = ANY(ARRAY(
    SELECT id FROM {schema}.tasks
    WHERE queue = %(queue)s AND state = 'ready' {wanted}
      AND NOT EXISTS (SELECT 1 FROM {schema}.queues q WHERE q.id = %(queue)s AND q.paused IS NOT NULL)
    ORDER BY -priority, id
    LIMIT {limit}
    FOR UPDATE SKIP LOCKED))
RETURNING t.epoch, t.attempts, t.deaths, t.record, t.priority
