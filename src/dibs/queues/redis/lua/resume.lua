redis.call('HDEL', at('meta'), 'paused')
relax()
woken = true
return done('ok')
