SELECT (SELECT max(version) FROM {schema}.versions), q.id, q.retention
FROM (SELECT 1) one LEFT JOIN {schema}.queues q ON q.name = %(name)s
