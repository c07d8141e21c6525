-- ARGV: the reason.
redis.call('HSET', at('meta'), 'paused', ARGV[1])
beware()
return 'ok'
