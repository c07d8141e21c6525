-- Renewed from another boot than its holder's: from then on it belongs to whoever renewed it.
UPDATE {schema}.tasks t
SET renewed = {schema}.store_time(), beat = %(sent)s, holder = %(session)s,
    at = least({schema}.store_time() + t.ttl * %(drift)s + %(margin)s, t.until)
WHERE t.queue = %(queue)s AND t.id = %(id)s AND coalesce(t.state) = 'claimed' AND t.epoch = %(epoch)s
  AND t.holder = %(seen)s AND t.at > {schema}.store_time()
RETURNING t.ttl, t.until - {schema}.store_time()
