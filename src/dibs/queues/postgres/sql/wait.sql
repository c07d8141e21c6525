-- A task is to run after others.
INSERT INTO {schema}.waits (queue, ref, is_id, task)
SELECT %(queue)s, g.ref, g.is_id, g.task
FROM unnest(%(ref)s::text[], %(is_id)s::boolean[], %(task)s::uuid[]) AS g (ref, is_id, task)
ON CONFLICT DO NOTHING
