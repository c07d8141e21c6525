redis.call('HDEL', at('meta'), 'paused')
woken = true
return done('ok')
