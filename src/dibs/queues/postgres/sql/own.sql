-- Who has each key, or had it last.
SELECT DISTINCT ON (t.key)
    t.key, t.id, t.state, t.epoch, t.attempts, t.deaths, t.record
FROM {schema}.tasks t
WHERE t.queue = %(queue)s AND t.key = ANY(%(key)s::text[]) AND t.id <> ALL(%(but)s::uuid[])
ORDER BY t.key, t.state IN ('ready', 'scheduled', 'blocked', 'claimed') DESC, t.keyed DESC, t.id DESC
