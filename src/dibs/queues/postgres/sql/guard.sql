-- Somebody else beats for this session from now on.
UPDATE {schema}.holders SET guard = %(guard)s, guard_start = %(guard_start)s
WHERE queue = %(queue)s AND session = %(session)s AND guard IS DISTINCT FROM %(guard)s
