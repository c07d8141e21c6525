-- Tasks whose id, or whose key among live tasks, is there already are not added.
WITH now AS MATERIALIZED (SELECT {schema}.store_time() AS at),
added AS (
    INSERT INTO {schema}.tasks (
        queue, id, state, priority, at, key, keyed, project, labels, not_before, max_runtime, record
    )
    SELECT (SELECT q.id FROM {schema}.queues q WHERE q.id = %(queue)s), g.id,  -- not null: it must still be there
           CASE WHEN g.waiting THEN 'blocked' WHEN g.not_before > now.at THEN 'scheduled' ELSE 'ready' END::{schema}.state,
           g.priority,
           CASE WHEN NOT g.waiting AND g.not_before > now.at THEN g.not_before ELSE 0 END,
           g.key, now.at, g.project, g.labels::text[], g.not_before, g.max_runtime, g.record
    FROM unnest(
        %(id)s::uuid[], %(waiting)s::boolean[], %(priority)s::integer[], %(key)b::text[], %(project)b::text[],
        %(labels)b::text[], %(not_before)s::double precision[], %(max_runtime)s::double precision[],
        %(record)b::text[]
    ) WITH ORDINALITY AS g (id, waiting, priority, key, project, labels, not_before, max_runtime, record, number), now
    ORDER BY g.key, g.number
    ON CONFLICT DO NOTHING
    RETURNING id, state
)
SELECT a.id, a.state, now.at, n.told
FROM now LEFT JOIN added a ON true LEFT JOIN (SELECT pg_notify(%(channel)s, '') AS told WHERE %(notify)s) n ON true
