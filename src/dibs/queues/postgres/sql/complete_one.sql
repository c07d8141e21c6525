UPDATE {schema}.tasks t
SET state = 'completed', at = {schema}.store_time(),
    history = CASE WHEN %(event)s::text IS NULL THEN t.history
                   ELSE (t.history || %(event)s::text)[cardinality(t.history) + 2 - %(longest)s :] END
WHERE t.id = %(id)s AND t.queue = %(queue)s
  AND coalesce(t.state) = 'claimed' AND t.epoch = %(seen_epoch)s AND t.holder = %(seen_holder)s
RETURNING t.awaited OR (t.key IS NOT NULL AND EXISTS (
    SELECT 1 FROM {schema}.waits w WHERE w.ref = t.key AND w.queue = t.queue AND NOT w.is_id))
