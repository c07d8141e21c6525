INSERT INTO {schema}.versions (version, by) VALUES (%(version)s, %(by)s)
