-- One page of the tasks in a state, behind the last one of the page before.
SELECT {rank}, t.id, t.state, t.epoch, t.attempts, t.deaths, t.record
FROM {schema}.tasks t
WHERE t.queue = %(queue)s AND t.state = {state}{wanted} AND {behind}
ORDER BY {order}
LIMIT {limit}
