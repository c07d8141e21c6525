-- Deletes what has departed: by this very departure, not by a later one. Once leaving, a row is not changed any more.
DELETE FROM {schema}.tasks t
WHERE t.queue = %(queue)s AND coalesce(t.state) = 'leaving' AND t.id = ANY(ARRAY(
    SELECT g.id
    FROM unnest(%(id)s::uuid[], %(to)s::text[], %(departed)s::double precision[]) AS g (id, moved_to, departed)
    WHERE (SELECT s.moved_to = g.moved_to AND s.departed = g.departed
           FROM {schema}.tasks s WHERE s.id = g.id AND s.queue = %(queue)s)))
