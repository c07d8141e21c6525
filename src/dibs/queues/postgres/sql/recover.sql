-- What a claim took whose answer was lost.
SELECT epoch, attempts, deaths, record, priority, {schema}.store_time(), NULL::float8, NULL::float8, false
FROM {schema}.tasks
WHERE queue = %(queue)s AND state = 'claimed' AND holder = %(session)s AND beat = %(sent)s
ORDER BY -priority, id
