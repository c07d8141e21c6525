-- Tasks held by one session, each completed if it is still held as it was. States are compared through `coalesce` where
-- ids are given, here and elsewhere: however the planner thinks of the table, it then goes by the ids.
UPDATE {schema}.tasks t
SET state = 'completed', ended = (SELECT {schema}.store_time()),
    history = CASE WHEN g.event IS NULL THEN t.history
                   ELSE (t.history || g.event)[cardinality(t.history) + 2 - %(longest)s :] END
FROM unnest(%(id)s::uuid[], %(epoch)s::bigint[], %(event)b::text[]) WITH ORDINALITY AS g (id, epoch, event, number)
WHERE t.id = g.id AND t.queue = %(queue)s AND coalesce(t.state) = 'claimed'
  AND t.epoch = g.epoch AND t.holder = %(holder)s
RETURNING g.number, t.awaited OR (t.key IS NOT NULL AND EXISTS (
    SELECT 1 FROM {schema}.waits w WHERE w.ref = t.key AND w.queue = t.queue AND NOT w.is_id))
