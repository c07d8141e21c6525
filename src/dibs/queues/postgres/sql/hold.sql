-- A process makes itself known before its first claim, and now and then.
INSERT INTO {schema}.holders AS h
    (queue, session, host, machine, boot, space, pid, start, guard, guard_start, since, seen)
VALUES (%(queue)s, %(session)s, %(host)s, %(machine)s, %(boot)s, %(space)s, %(pid)s, %(start)s, %(guard)s,
        %(guard_start)s, {schema}.store_time(), {schema}.store_time())
ON CONFLICT (session, queue) DO UPDATE
SET seen = excluded.seen, guard = coalesce(excluded.guard, h.guard),
    guard_start = CASE WHEN excluded.guard IS NULL THEN h.guard_start ELSE excluded.guard_start END
