-- Scheduled tasks whose time has come.
UPDATE {schema}.tasks t SET state = 'ready', at = 0
WHERE t.queue = %(queue)s AND t.id = ANY(ARRAY(
    SELECT id FROM {schema}.tasks
    WHERE queue = %(queue)s AND state = 'scheduled' AND at <= {schema}.store_time()
    ORDER BY at, id
    LIMIT 1000
    FOR UPDATE SKIP LOCKED))
RETURNING t.id
