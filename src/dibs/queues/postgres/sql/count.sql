SELECT state, priority, project, labels, count(*) FROM {schema}.tasks
WHERE queue = %(queue)s AND state <> 'leaving' GROUP BY state, priority, project, labels
