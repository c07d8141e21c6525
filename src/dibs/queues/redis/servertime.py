"""The server's clock, by what it said a moment ago and the time since: a push need not ask each time."""

from dibs.clock import Clock
from dibs.queues.redis.answers import MICRO
from dibs.queues.redis.server import Server

FRESH_SECONDS = 5.0


class ServerTime:
    def __init__(self, server: Server, clock: Clock) -> None:
        self._server = server
        self._clock = clock
        self._asked = float("-inf")
        self._ahead = 0.0  # of our boottime; never too much

    def now(self) -> float:
        if self._clock.boottime() - self._asked >= FRESH_SECONDS:
            asked = self._clock.boottime()
            self._ahead = int(self._server.ask("time")) / MICRO - self._clock.boottime()
            self._asked = asked
        return self._ahead + self._clock.boottime()
