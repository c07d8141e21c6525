-- Lets tasks in as they stood. Those whose id is there, or whose key a live task has, are not added. In every row, of which
-- there is at least one: by which transaction.
WITH now AS MATERIALIZED (SELECT {schema}.store_time() AS at),
added AS (
    INSERT INTO {schema}.tasks (
        queue, id, state, epoch, attempts, deaths, holder, at, priority, key, keyed, project, labels, not_before,
        max_runtime, record, history, awaited
    )
    SELECT (SELECT q.id FROM {schema}.queues q WHERE q.id = %(queue)s), g.id, g.state, g.epoch, g.attempts, g.deaths, g.holder,
           CASE WHEN g.state IN ('completed', 'failed', 'cancelled') THEN now.at ELSE g.due END,
           g.priority, g.key,
           CASE WHEN g.state IN ('completed', 'failed', 'cancelled') THEN 0 ELSE now.at END,
           g.project, g.labels::text[], g.not_before,
           g.max_runtime, g.record, g.history::text[],
           EXISTS (SELECT 1 FROM {schema}.waits w
                   WHERE w.ref = replace(g.id::text, '-', '') AND w.queue = %(queue)s AND w.is_id)
    FROM unnest(
        %(id)s::uuid[], %(state)s::{schema}.state[], %(epoch)s::bigint[], %(attempts)s::bigint[], %(deaths)s::bigint[],
        %(holder)b::text[], %(due)s::double precision[], %(priority)s::integer[], %(key)b::text[], %(project)b::text[],
        %(labels)b::text[], %(not_before)s::double precision[], %(max_runtime)s::double precision[],
        %(record)b::text[], %(history)b::text[]
    ) AS g (
        id, state, epoch, attempts, deaths, holder, due, priority, key, project, labels, not_before, max_runtime, record,
        history
    ), now
    ORDER BY g.key, g.id
    ON CONFLICT DO NOTHING
    RETURNING id
)
SELECT txid_current(), a.id, n.told
FROM now LEFT JOIN added a ON true LEFT JOIN (SELECT pg_notify(%(channel)s, '') AS told WHERE %(notify)s) n ON true
