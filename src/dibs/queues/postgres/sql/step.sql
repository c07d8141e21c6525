-- Any step but claim, renew and complete: from exactly the state, epoch and holder that were seen.
WITH moved AS (
    UPDATE {schema}.tasks t
    SET state = %(state)s::{schema}.state, epoch = %(epoch)s, attempts = %(attempts)s, deaths = %(deaths)s, holder = %(holder)s,
        at = CASE WHEN %(wait)s::double precision > 0 THEN {schema}.store_time() + %(wait)s
                  WHEN %(state)s::{schema}.state IN ('completed', 'failed', 'cancelled') THEN {schema}.store_time() ELSE 0 END,
        keyed = CASE WHEN %(keyed)s THEN {schema}.store_time() ELSE t.keyed END,
        history = CASE WHEN %(event)s::text IS NULL THEN t.history
                       ELSE (t.history || %(event)s::text)[cardinality(t.history) + 2 - %(longest)s :] END
    WHERE t.queue = %(queue)s AND t.id = %(id)s
      AND t.state = %(seen_state)s AND t.epoch = %(seen_epoch)s AND t.holder = %(seen_holder)s
    RETURNING t.id
)
SELECT m.id, n.told FROM moved m LEFT JOIN (SELECT pg_notify(%(channel)s, '') AS told WHERE %(notify)s) n ON true
