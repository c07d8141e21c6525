-- When each boot of a machine was first seen.
SELECT machine, boot, max(since) FROM {schema}.holders
WHERE queue = %(queue)s AND machine = ANY(%(machine)s::text[]) GROUP BY machine, boot
