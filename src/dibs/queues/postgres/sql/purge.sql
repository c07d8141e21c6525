DELETE FROM {schema}.tasks t
WHERE t.queue = %(queue)s AND t.id = ANY(ARRAY(
    SELECT id FROM {schema}.tasks
    WHERE queue = %(queue)s AND state = {state}
      AND (at < {schema}.store_time() - %(age)s OR %(all)s)
    ORDER BY at
    LIMIT {limit}
    FOR UPDATE SKIP LOCKED))
RETURNING t.id
