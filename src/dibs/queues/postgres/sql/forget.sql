-- Processes that have not been heard of for long, and hold nothing.
DELETE FROM {schema}.holders h
WHERE h.queue = %(queue)s AND h.seen < {schema}.store_time() - %(age)s
  AND NOT EXISTS (SELECT 1 FROM {schema}.tasks t
                  WHERE t.queue = h.queue AND t.state = 'claimed' AND t.holder = h.session)
