-- Which queue this is, by whatever name it was found: no two servers started at the same moment.
SELECT concat_ws(' ', extract(epoch FROM pg_postmaster_start_time()), current_database(), tableoid, id)
FROM {schema}.queues WHERE id = %(queue)s
