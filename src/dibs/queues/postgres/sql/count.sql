SELECT state, priority, project, labels, count(*) FROM {schema}.tasks
WHERE queue = %(queue)s GROUP BY state, priority, project, labels
