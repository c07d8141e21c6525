-- As pack, the ids alone.
SELECT {rank}, t.id FROM {schema}.tasks t
WHERE t.queue = %(queue)s AND t.state = {state} AND {behind}
ORDER BY {order}
LIMIT {limit}
