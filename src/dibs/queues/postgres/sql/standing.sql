-- The state of each thing that a task is to run after.
SELECT g.ref, {schema}.state_of(%(queue)s, g.ref, g.is_id)
FROM unnest(%(ref)s::text[], %(is_id)s::boolean[]) WITH ORDINALITY AS g (ref, is_id, number)
ORDER BY g.number
