-- Up to a number of ready tasks, and beside them, in at least one row, what else a claimer wants to know.
WITH now AS MATERIALIZED (SELECT {schema}.store_time() AS at),
picked AS MATERIALIZED (
    SELECT id FROM {schema}.tasks
    WHERE queue = %(queue)s AND state = 'ready' {wanted}
      AND NOT EXISTS (SELECT 1 FROM {schema}.queues q WHERE q.id = %(queue)s AND q.paused IS NOT NULL)
    ORDER BY -priority, id
    LIMIT {limit}
    FOR UPDATE SKIP LOCKED
),
taken AS (
    UPDATE {schema}.tasks t
    SET state = 'claimed', epoch = t.epoch + 1, holder = %(session)s, due = 0, ended = 0,
        since = now.at, renewed = now.at, beat = %(sent)s, ttl = %(ttl)s, until = now.at + t.max_runtime,
        expires = least(now.at + %(lasts)s, now.at + t.max_runtime)
    FROM now
    WHERE t.queue = %(queue)s AND t.id = ANY(ARRAY(SELECT id FROM picked))
    RETURNING t.priority, t.id, t.epoch, t.attempts, t.deaths, t.record
)
SELECT taken.epoch, taken.attempts, taken.deaths, taken.record, now.at,
       (SELECT min(due) FROM {schema}.tasks WHERE queue = %(queue)s AND state = 'scheduled') - now.at,
       (SELECT min(expires) FROM {schema}.tasks WHERE queue = %(queue)s AND state = 'claimed') - now.at,
       EXISTS (SELECT 1 FROM {schema}.tasks WHERE queue = %(queue)s AND state = 'blocked')
FROM now LEFT JOIN taken ON true
ORDER BY -taken.priority, taken.id
