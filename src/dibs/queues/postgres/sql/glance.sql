-- Where a task stands, or stood before it went, without what it carries.
SELECT coalesce(t.was, t.state), t.epoch, t.attempts, t.deaths, t.holder, t.beat, t.ttl, t.history, h.host,
       t.until - {schema}.store_time()
FROM {schema}.tasks t LEFT JOIN {schema}.holders h ON h.queue = t.queue AND h.session = t.holder
WHERE t.queue = %(queue)s AND t.id = %(id)s
