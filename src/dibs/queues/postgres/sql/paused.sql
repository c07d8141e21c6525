SELECT paused FROM {schema}.queues WHERE id = %(queue)s
