-- Lock the blocked tasks that wait for one of these, in order: then nobody else judges them at the same time.
SELECT t.id FROM {schema}.tasks t
WHERE t.queue = %(queue)s AND coalesce(t.state) = 'blocked' AND t.id = ANY(ARRAY(
    SELECT w.task FROM {schema}.waits w WHERE w.queue = %(queue)s AND w.ref = ANY(%(ref)s::text[]) AND w.is_id
    UNION
    SELECT w.task
    FROM {schema}.tasks s JOIN {schema}.waits w ON w.queue = s.queue AND w.ref = s.key AND NOT w.is_id
    WHERE s.queue = %(queue)s AND s.id = ANY(%(id)s::uuid[]) AND s.key IS NOT NULL))
ORDER BY t.id
FOR UPDATE OF t
