SELECT t.id, t.key, t.epoch, t.holder, h.host, h.pid, t.since, t.renewed, t.ttl
FROM {schema}.tasks t LEFT JOIN {schema}.holders h ON h.queue = t.queue AND h.session = t.holder
WHERE t.queue = %(queue)s AND t.state = 'claimed'
ORDER BY t.since, t.id
