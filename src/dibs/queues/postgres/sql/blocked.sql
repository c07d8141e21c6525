-- Some of the blocked tasks, going round; those that are locked are being judged by somebody else.
SELECT t.id FROM {schema}.tasks t
WHERE t.queue = %(queue)s AND t.state = 'blocked' AND t.at = 0 AND t.id > %(after)s
ORDER BY t.id
LIMIT {limit}
FOR UPDATE OF t SKIP LOCKED
