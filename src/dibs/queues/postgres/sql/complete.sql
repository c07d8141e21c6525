-- Tasks held by one session at one epoch, each completed if it still is; with an event for each, or none. One row: how many
-- were, which of them somebody waits for, and which they were unless it was all. Ids are looked up as an array, here and
-- elsewhere, and states compared through `coalesce` where ids are given: however the planner thinks of the table, it then
-- goes by the ids.
WITH done AS (
    UPDATE {schema}.tasks t
    SET state = 'completed', at = (SELECT {schema}.store_time()),
        history = CASE WHEN cardinality(%(event)b::text[]) = 0 THEN t.history
                       ELSE (t.history || (%(event)b::text[])[array_position(%(id)s::uuid[], t.id)])
                            [cardinality(t.history) + 2 - %(longest)s :] END
    WHERE t.id = ANY(%(id)s::uuid[]) AND t.queue = %(queue)s AND coalesce(t.state) = 'claimed'
      AND t.epoch = %(epoch)s AND t.holder = %(holder)s
    RETURNING t.id, t.awaited OR (t.key IS NOT NULL AND EXISTS (
        SELECT 1 FROM {schema}.waits w WHERE w.ref = t.key AND w.queue = t.queue AND NOT w.is_id)) AS awaited
)
SELECT count(*), array_agg(id) FILTER (WHERE awaited),
       CASE WHEN count(*) < cardinality(%(id)s::uuid[]) THEN array_agg(id) END
FROM done
