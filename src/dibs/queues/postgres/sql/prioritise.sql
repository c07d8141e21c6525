-- Another priority for a task that waits: from exactly the state, epoch and record that were seen.
WITH moved AS (
    UPDATE {schema}.tasks t SET priority = %(priority)s, record = %(record)s
    WHERE t.queue = %(queue)s AND t.id = %(id)s
      AND t.state = %(seen_state)s AND t.epoch = %(seen_epoch)s AND t.record = %(seen_record)s
    RETURNING t.id
)
SELECT m.id, n.told FROM moved m LEFT JOIN (SELECT pg_notify(%(channel)s, '') AS told WHERE %(notify)s) n ON true
