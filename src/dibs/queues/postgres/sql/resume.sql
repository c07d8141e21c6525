WITH resumed AS (UPDATE {schema}.queues SET paused = NULL WHERE id = %(queue)s RETURNING id)
SELECT pg_notify(%(channel)s, '') FROM resumed
