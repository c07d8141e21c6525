-- ARGV: state, offset, count. Returns ids.
return redis.call('ZRANGE', at(ARGV[1]), ARGV[2], ARGV[2] + ARGV[3] - 1)
