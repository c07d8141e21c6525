INSERT INTO {schema}.queues (name, retention) VALUES (%(name)s, %(retention)s) ON CONFLICT (name) DO NOTHING
