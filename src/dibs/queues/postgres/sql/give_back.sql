-- Many held tasks whose holders are gone; those that are no longer as seen are left as they are.
WITH now AS MATERIALIZED (SELECT {schema}.store_time() AS at),
held AS MATERIALIZED (
    SELECT t.id, array_position(%(id)s::uuid[], t.id) AS n FROM {schema}.tasks t, now
    WHERE t.id = ANY(%(id)s::uuid[]) AND t.queue = %(queue)s AND coalesce(t.state) = 'claimed'
      AND t.epoch = (%(seen_epoch)s::bigint[])[array_position(%(id)s::uuid[], t.id)]
      AND t.holder = (%(seen_holder)s::text[])[array_position(%(id)s::uuid[], t.id)]
      AND (t.at <= now.at OR NOT %(late)s)
    ORDER BY t.id
    FOR UPDATE OF t {locked}
),
moved AS (
    UPDATE {schema}.tasks t
    SET state = (%(state)s::{schema}.state[])[m.n], attempts = (%(attempts)s::bigint[])[m.n], holder = '',
        deaths = (%(deaths)s::bigint[])[m.n],
        at = CASE WHEN (%(wait)s::double precision[])[m.n] > 0 THEN m.at + (%(wait)s::double precision[])[m.n]
                  WHEN (%(state)s::{schema}.state[])[m.n] = 'failed' THEN m.at ELSE 0 END,
        history = (t.history || (%(event)b::text[])[m.n])[cardinality(t.history) + 2 - %(longest)s :]
    FROM (SELECT held.id, held.n, now.at FROM held, now) m
    WHERE t.queue = %(queue)s AND t.id = m.id AND t.id = ANY(ARRAY(SELECT id FROM held))
    RETURNING t.id
)
SELECT m.id, n.told FROM moved m LEFT JOIN (SELECT pg_notify(%(channel)s, '') AS told WHERE %(notify)s) n ON true
