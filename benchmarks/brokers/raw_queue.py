"""The floor on Redis: the least that is still a queue, in Lua by redis-py. Nobody takes over what its worker leaves.

`ready` is a sorted set by priority, `leased` one by expiry on the server's clock, `payloads` a hash. A claim moves
from the first to the second and reads the third; an ack removes from both.
"""

from collections.abc import Iterator
from typing import Any

from benchmarks.contenders.contender import Contender

KEYS = ("raw:ready", "raw:leased", "raw:payloads")
TTL_SECONDS = 60
PRIORITY = 50
FILLED_AT_ONCE = 1000

_ACK = """
local function ack(first)
  local ids = {}
  for i = first, #ARGV do ids[#ids + 1] = ARGV[i] end
  if #ids == 0 then return 0 end
  local held = redis.call('ZREM', KEYS[2], unpack(ids))
  redis.call('HDEL', KEYS[3], unpack(ids))
  return held
end
"""
_CLAIM = """
local function claim(limit, ttl)
  local popped = redis.call('ZPOPMIN', KEYS[1], limit)
  if #popped == 0 then return {} end
  local ends, leased, ids = redis.call('TIME')[1] + ttl, {}, {}
  for i = 1, #popped, 2 do
    leased[i], leased[i + 1] = ends, popped[i]
    ids[#ids + 1] = popped[i]
  end
  redis.call('ZADD', KEYS[2], unpack(leased))
  return { ids, redis.call('HMGET', KEYS[3], unpack(ids)) }
end
"""
CLAIM = f"{_CLAIM} return claim(ARGV[1], ARGV[2])"
ACK = f"{_ACK} return ack(1)"
ACK_AND_CLAIM = (
    f"{_ACK}{_CLAIM} if ack(3) ~= #ARGV - 2 then return redis.error_reply('LOST') end return claim(ARGV[1], ARGV[2])"
)


class RawQueue(Contender):
    kind = "floor"
    module = "redis"
    drain_durability = "in memory"

    def __init__(self, url: str, way: str) -> None:
        self.url = url
        self.way = way
        self.batch = 100 if way == "batches of 100" else 1
        self.name = f"raw Lua, {way}"

    def fill(self, folder: str, payloads: list[bytes]) -> None:
        from redis import Redis

        with Redis.from_url(self.url) as client:
            client.flushall()
            for start in range(0, len(payloads), FILLED_AT_ONCE):
                part = {f"{number:032}": data for number, data in enumerate(payloads[start:][:FILLED_AT_ONCE], start)}
                client.hset(KEYS[2], mapping=part)
                client.zadd(KEYS[0], dict.fromkeys(part, -PRIORITY))

    def open(self, folder: str, rank: int = 0, ranks: int = 1) -> Any:
        from redis import Redis

        client = Redis.from_url(self.url)
        scripts = {text: client.script_load(text) for text in (CLAIM, ACK, ACK_AND_CLAIM)}

        def ask(text: str, *arguments: Any) -> Any:
            return client.evalsha(scripts[text], 3, *KEYS, *arguments)

        return ask

    def drain(self, handle: Any) -> Iterator[Any]:
        if self.way == "one round trip":
            yield from _chained(handle)
            return
        while found := handle(CLAIM, self.batch, TTL_SECONDS):
            ids, payloads = found
            if handle(ACK, *ids) != len(ids):
                raise RuntimeError("leases lost")
            yield from payloads


def _chained(ask: Any) -> Iterator[Any]:
    found = ask(CLAIM, 1, TTL_SECONDS)
    while found:
        (task_id,), (payload,) = found
        found = ask(ACK_AND_CLAIM, 1, TTL_SECONDS, task_id)
        yield payload
