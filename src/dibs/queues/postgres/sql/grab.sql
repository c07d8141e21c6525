-- A claim that asks for nothing else: the usual one while there is work. It begins behind the last one taken, so it does
-- not step over what lies dead in the index before that; higher priorities are looked at from their beginning. A row with an
-- xmax is being taken by somebody, or was while this began: to find that out by trying to lock it costs several times as much. (Or
-- somebody took it and was undone: the next full claim has it.)
UPDATE {schema}.tasks t
SET state = 'claimed', epoch = t.epoch + 1, holder = %(session)s,
    since = now.at, renewed = now.at, beat = %(sent)s, ttl = %(ttl)s, until = now.at + t.max_runtime,
    at = least(now.at + %(lasts)s, now.at + t.max_runtime)
FROM (SELECT {schema}.store_time() AS at OFFSET 0) now
WHERE t.ctid = ANY(ARRAY(
    SELECT place FROM (
        SELECT place FROM (
            SELECT ctid AS place FROM {schema}.tasks
            WHERE queue = %(queue)s AND state = 'ready' AND -priority < %(rank)s AND coalesce(xmax = 0) {wanted}
            ORDER BY -priority, id
            LIMIT {limit}
            FOR UPDATE SKIP LOCKED) higher
        UNION ALL
        SELECT place FROM (
            SELECT ctid AS place FROM {schema}.tasks
            WHERE queue = %(queue)s AND state = 'ready' AND (-priority, id) > (%(rank)s, %(behind)s::uuid)
              AND coalesce(xmax = 0) {wanted}
            ORDER BY -priority, id
            LIMIT {limit}
            FOR UPDATE SKIP LOCKED) others
    ) found
    WHERE NOT EXISTS (SELECT 1 FROM {schema}.queues q WHERE q.id = %(queue)s AND q.paused IS NOT NULL)
    LIMIT {limit}))
RETURNING t.epoch, t.attempts, t.deaths, t.record, t.priority
