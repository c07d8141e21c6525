-- Mark what others wait for, so that whoever completes it at this moment learns of them.
WITH wanted AS MATERIALIZED (
    SELECT t.id FROM {schema}.tasks t
    WHERE t.queue = %(queue)s AND NOT t.awaited AND t.state <> 'completed' AND t.id = ANY(ARRAY(
        SELECT s.id FROM {schema}.tasks s WHERE s.queue = %(queue)s AND s.id = ANY(%(id)s::uuid[])
        UNION
        SELECT s.id FROM {schema}.tasks s WHERE s.queue = %(queue)s AND s.key = ANY(%(key)s::text[])))
    ORDER BY t.id
    FOR UPDATE OF t
)
UPDATE {schema}.tasks t SET awaited = true WHERE t.queue = %(queue)s AND t.id = ANY(ARRAY(SELECT id FROM wanted))
