-- Of these ids those that are there, in whatever state, and where to if they are on their way.
SELECT t.id, t.state, t.moved_to FROM {schema}.tasks t WHERE t.id = ANY(%(id)s::uuid[]) AND t.queue = %(queue)s
