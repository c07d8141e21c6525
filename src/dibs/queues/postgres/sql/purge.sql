DELETE FROM {schema}.tasks t
WHERE t.queue = %(queue)s AND t.id = ANY(ARRAY(
    SELECT id FROM {schema}.tasks
    WHERE queue = %(queue)s AND state = {state}
      AND (ended < {schema}.store_time() - %(age)s OR %(all)s)
    ORDER BY ended
    LIMIT {limit}
    FOR UPDATE SKIP LOCKED))
RETURNING t.id
