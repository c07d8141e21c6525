-- As complete.sql for those that leave no event and that nobody waits for: most of them. The server only says how many.
UPDATE {schema}.tasks t
SET state = 'completed', at = (SELECT {schema}.store_time())
WHERE t.id = ANY(%(id)s::uuid[]) AND t.queue = %(queue)s AND coalesce(t.state) = 'claimed'
  AND t.epoch = %(epoch)s AND t.holder = %(holder)s
  AND NOT t.awaited AND (t.key IS NULL OR NOT EXISTS (
      SELECT 1 FROM {schema}.waits w WHERE w.ref = t.key AND w.queue = t.queue AND NOT w.is_id))
