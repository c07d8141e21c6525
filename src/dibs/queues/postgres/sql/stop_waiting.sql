DELETE FROM {schema}.waits WHERE queue = %(queue)s AND task = %(id)s
