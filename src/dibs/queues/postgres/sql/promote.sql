-- Scheduled tasks whose time has come.
UPDATE {schema}.tasks t SET state = 'ready', due = 0
WHERE t.queue = %(queue)s AND t.id = ANY(ARRAY(
    SELECT id FROM {schema}.tasks
    WHERE queue = %(queue)s AND state = 'scheduled' AND due <= {schema}.store_time()
    ORDER BY due, id
    LIMIT 1000
    FOR UPDATE SKIP LOCKED))
RETURNING t.id
