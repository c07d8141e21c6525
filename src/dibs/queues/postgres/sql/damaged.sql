-- What a claim took, for those of which the record cannot be read.
SELECT id, epoch, attempts, deaths, record FROM {schema}.tasks
WHERE queue = %(queue)s AND state = 'claimed' AND holder = %(session)s AND beat = %(sent)s
