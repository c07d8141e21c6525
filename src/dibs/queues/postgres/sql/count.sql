-- What is due counts as ready, though no claimer has met it yet.
SELECT CASE WHEN state = 'scheduled' AND at <= (SELECT {schema}.store_time()) THEN 'ready' ELSE state END AS shown,
       priority, project, labels, count(*)
FROM {schema}.tasks
WHERE queue = %(queue)s AND state <> 'leaving' GROUP BY shown, priority, project, labels
