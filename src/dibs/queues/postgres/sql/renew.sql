-- A row that is locked is in the middle of a step: it is left alone.
WITH now AS MATERIALIZED (SELECT {schema}.store_time() AS at),
mine AS MATERIALIZED (
    SELECT t.id FROM {schema}.tasks t, now
    WHERE t.queue = %(queue)s AND t.id = %(id)s AND coalesce(t.state) = 'claimed' AND t.epoch = %(epoch)s
      AND t.holder = %(session)s AND t.at > now.at AND t.beat + t.ttl > %(sent)s
    FOR UPDATE OF t SKIP LOCKED
)
UPDATE {schema}.tasks t
SET renewed = now.at, beat = %(sent)s,
    at = least(now.at + t.ttl * %(drift)s + %(margin)s, t.until)
FROM now
WHERE t.queue = %(queue)s AND t.id = ANY(ARRAY(SELECT id FROM mine))
RETURNING t.ttl, t.until - now.at
