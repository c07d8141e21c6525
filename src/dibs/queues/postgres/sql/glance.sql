-- Where tasks stand, or stood before they went, without what they carry.
SELECT coalesce(t.was, t.state), t.epoch, t.attempts, t.deaths, t.holder, t.beat, t.ttl, t.history, h.host,
       t.until - {schema}.store_time(), t.id
FROM {schema}.tasks t LEFT JOIN {schema}.holders h ON h.queue = t.queue AND h.session = t.holder
WHERE t.queue = %(queue)s AND t.id = ANY(%(id)s::uuid[])
