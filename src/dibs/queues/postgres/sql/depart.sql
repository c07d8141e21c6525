-- Takes tasks out of circulation from exactly how they were packed, marked with where they go; their keys are free.
-- Returns each that is out, also if it was out already.
WITH same AS MATERIALIZED (
    SELECT t.id FROM {schema}.tasks t
    WHERE t.id = ANY(%(id)s::uuid[]) AND t.queue = %(queue)s
      AND concat_ws(' ', t.state, t.epoch, t.attempts, t.deaths, t.holder)
          = (%(seen)s::text[])[array_position(%(id)s::uuid[], t.id)]
    ORDER BY t.id
    FOR UPDATE OF t
),
moved AS (
    UPDATE {schema}.tasks t
    SET state = 'leaving', was = t.state, moved_to = %(to)s, departed = (SELECT {schema}.store_time()), key = NULL
    WHERE t.queue = %(queue)s AND t.id = ANY(ARRAY(SELECT id FROM same))
    RETURNING t.id, t.departed
),
over AS (DELETE FROM {schema}.waits w WHERE w.queue = %(queue)s AND w.task = ANY(ARRAY(SELECT id FROM moved)))
SELECT id, departed FROM moved
UNION ALL
SELECT t.id, t.departed FROM {schema}.tasks t
WHERE t.id = ANY(%(id)s::uuid[]) AND t.queue = %(queue)s AND coalesce(t.state) = 'leaving' AND t.moved_to = %(to)s
