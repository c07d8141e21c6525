-- Completes one held task and claims the next: one statement, one commit. No row when the task is no longer held as it
-- was; then nothing is claimed either. Where it looks for the next is said in grab.sql.
WITH now AS MATERIALIZED (SELECT {schema}.store_time() AS at),
done AS (
    UPDATE {schema}.tasks t
    SET state = 'completed', at = now.at,
        history = CASE WHEN %(event)s::text IS NULL THEN t.history
                       ELSE (t.history || %(event)s::text)[cardinality(t.history) + 2 - %(longest)s :] END
    FROM now
    WHERE t.id = %(id)s AND t.queue = %(queue)s
      AND coalesce(t.state) = 'claimed' AND t.epoch = %(seen_epoch)s AND t.holder = %(seen_holder)s
    RETURNING t.awaited OR (t.key IS NOT NULL AND EXISTS (
        SELECT 1 FROM {schema}.waits w WHERE w.ref = t.key AND w.queue = t.queue AND NOT w.is_id)) AS awaited
),
taken AS (
    UPDATE {schema}.tasks t
    SET state = 'claimed', epoch = t.epoch + 1, holder = %(session)s,
        since = now.at, renewed = now.at, beat = %(sent)s, ttl = %(ttl)s, until = now.at + t.max_runtime,
        at = least(now.at + %(lasts)s, now.at + t.max_runtime)
    FROM now
    WHERE t.ctid = ANY(ARRAY(
        SELECT place FROM (
            SELECT place FROM (
                SELECT ctid AS place FROM {schema}.tasks
                WHERE queue = %(queue)s AND state = 'ready' AND -priority < %(rank)s AND coalesce(xmax = 0) {wanted}
                ORDER BY -priority, id
                LIMIT {limit}
                FOR UPDATE SKIP LOCKED) higher
            UNION ALL
            SELECT place FROM (
                SELECT ctid AS place FROM {schema}.tasks
                WHERE queue = %(queue)s AND state = 'ready' AND (-priority, id) > (%(rank)s, %(behind)s::uuid)
                  AND coalesce(xmax = 0) {wanted}
                ORDER BY -priority, id
                LIMIT {limit}
                FOR UPDATE SKIP LOCKED) others
        ) found
        WHERE NOT EXISTS (SELECT 1 FROM {schema}.queues q WHERE q.id = %(queue)s AND q.paused IS NOT NULL)
          AND EXISTS (SELECT 1 FROM done)
        LIMIT {limit}))
    RETURNING t.epoch, t.attempts, t.deaths, t.record, t.priority
)
SELECT taken.epoch, taken.attempts, taken.deaths, taken.record, taken.priority, done.awaited
FROM done LEFT JOIN taken ON true
