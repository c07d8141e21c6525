-- A claim that asks for nothing else: the usual one while there is work.
UPDATE {schema}.tasks t
SET state = 'claimed', epoch = t.epoch + 1, holder = %(session)s, due = 0, ended = 0,
    since = {schema}.store_time(), renewed = {schema}.store_time(), beat = %(sent)s, ttl = %(ttl)s,
    until = {schema}.store_time() + t.max_runtime,
    expires = least({schema}.store_time() + %(lasts)s, {schema}.store_time() + t.max_runtime)
WHERE t.queue = %(queue)s AND t.id = ANY(ARRAY(
    SELECT id FROM {schema}.tasks
    WHERE queue = %(queue)s AND state = 'ready' {wanted}
      AND NOT EXISTS (SELECT 1 FROM {schema}.queues q WHERE q.id = %(queue)s AND q.paused IS NOT NULL)
    ORDER BY -priority, id
    LIMIT {limit}
    FOR UPDATE SKIP LOCKED))
RETURNING t.epoch, t.attempts, t.deaths, t.record, t.priority
