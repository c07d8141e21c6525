-- One page of the tasks in a state, whole, behind the last one of the page before.
SELECT {rank}, t.id, coalesce(t.was, t.state), t.epoch, t.attempts, t.deaths, t.holder, t.at,
       t.record, t.history, t.moved_to, t.departed
FROM {schema}.tasks t
WHERE t.queue = %(queue)s AND t.state = {state} AND {behind}
ORDER BY {order}
LIMIT {limit}
