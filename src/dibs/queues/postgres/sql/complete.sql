-- Held tasks, each completed if it is still held as it was. Ids are looked up as an array, here and elsewhere, and states
-- compared through `coalesce` where ids are given: however the planner thinks of the table, it then goes by the ids.
UPDATE {schema}.tasks t
SET state = 'completed', ended = {schema}.store_time(),
    history = (t.history || (%(event)b::text[])[array_position(%(id)s::uuid[], t.id)])
              [cardinality(t.history) + 2 - %(longest)s :]
WHERE t.id = ANY(%(id)s::uuid[]) AND t.queue = %(queue)s AND coalesce(t.state) = 'claimed'
  AND t.epoch = (%(epoch)s::bigint[])[array_position(%(id)s::uuid[], t.id)]
  AND t.holder = (%(holder)b::text[])[array_position(%(id)s::uuid[], t.id)]
RETURNING array_position(%(id)s::uuid[], t.id), t.awaited OR (t.key IS NOT NULL AND EXISTS (
    SELECT 1 FROM {schema}.waits w WHERE w.ref = t.key AND w.queue = t.queue AND NOT w.is_id))
