UPDATE {schema}.queues SET paused = %(reason)s WHERE id = %(queue)s
