-- Of these blocked tasks, those that wait for nothing any more become ready, or scheduled.
WITH now AS MATERIALIZED (SELECT {schema}.store_time() AS at),
freed AS (
    UPDATE {schema}.tasks t
    SET state = CASE WHEN t.not_before > now.at THEN 'scheduled' ELSE 'ready' END::{schema}.state,
        at = CASE WHEN t.not_before > now.at THEN t.not_before ELSE 0 END
    FROM now
    WHERE t.queue = %(queue)s AND t.id = ANY(%(id)s::uuid[]) AND coalesce(t.state) = 'blocked'
      AND NOT EXISTS (
          SELECT 1 FROM {schema}.waits w
          WHERE w.queue = t.queue AND w.task = t.id
            AND {schema}.state_of(w.queue, w.ref, w.is_id) IS DISTINCT FROM 'completed')
    RETURNING t.id, t.state
),
gone AS (DELETE FROM {schema}.waits w USING freed WHERE w.queue = %(queue)s AND w.task = freed.id)
SELECT f.id, f.state, n.told
FROM freed f LEFT JOIN (SELECT pg_notify(%(channel)s, '') AS told WHERE %(notify)s) n ON true
