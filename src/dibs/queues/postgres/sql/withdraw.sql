-- Tasks of this very transaction whose key turned out to be taken by a completed one.
DELETE FROM {schema}.tasks WHERE queue = %(queue)s AND id = ANY(%(id)s::uuid[])
