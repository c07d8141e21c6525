SELECT count(DISTINCT holder) FROM {schema}.tasks WHERE queue = %(queue)s AND state = 'claimed'
