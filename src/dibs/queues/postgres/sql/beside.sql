-- Processes of this boot that hold something.
SELECT h.session, h.host, h.machine, h.boot, h.space, h.pid, h.start, h.guard, h.guard_start, h.since
FROM {schema}.holders h
WHERE h.queue = %(queue)s AND h.boot = %(boot)s AND h.session <> %(session)s AND h.pid IS NOT NULL
  AND h.session IN (SELECT t.holder FROM {schema}.tasks t WHERE t.queue = %(queue)s AND t.state = 'claimed')
