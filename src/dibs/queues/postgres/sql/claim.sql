-- Up to a number of ready tasks, and beside them, in at least one row, what else a claimer wants to know.
WITH now AS MATERIALIZED (SELECT {schema}.store_time() AS at),
picked AS MATERIALIZED (
    SELECT ctid AS place FROM {schema}.tasks
    WHERE queue = %(queue)s AND state = 'ready' {wanted}
      AND NOT EXISTS (SELECT 1 FROM {schema}.queues q WHERE q.id = %(queue)s AND q.paused IS NOT NULL)
    ORDER BY -priority, id
    LIMIT {limit}
    FOR UPDATE SKIP LOCKED
),
taken AS (
    UPDATE {schema}.tasks t
    SET state = 'claimed', epoch = t.epoch + 1, holder = %(session)s,
        since = now.at, renewed = now.at, beat = %(sent)s, ttl = %(ttl)s, until = now.at + t.max_runtime,
        at = least(now.at + %(lasts)s, now.at + t.max_runtime)
    FROM now
    WHERE t.ctid = ANY(ARRAY(SELECT place FROM picked))
    RETURNING t.priority, t.id, t.epoch, t.attempts, t.deaths, t.record
)
SELECT taken.epoch, taken.attempts, taken.deaths, taken.record, taken.priority, now.at,
       (SELECT min(at) FROM {schema}.tasks WHERE queue = %(queue)s AND state = 'scheduled') - now.at,
       (SELECT min(at) FROM {schema}.tasks WHERE queue = %(queue)s AND state = 'claimed') - now.at,
       EXISTS (SELECT 1 FROM {schema}.tasks WHERE queue = %(queue)s AND state = 'blocked')
FROM now LEFT JOIN taken ON true
ORDER BY -taken.priority, taken.id
