"""Redis in the tests' own time: scripts get it as a second key, and waiting only moves it.

A queue on the real clock is left alone, so that other processes may share it.
"""

import time
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest

from dibs.queues.redis import scripts, server
from dibs.queues.redis.server import Server
from dibs.queues.redis.wake import Wake
from dibs.testing.clock import ManualClock

CLOCK = """
local function now()
  if KEYS[2] then
    return tonumber(KEYS[2])
  end
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
"""


@cache
def shifted(verb: str) -> scripts.Script:
    return scripts.assembled(verb, CLOCK)


def install(monkeypatch: pytest.MonkeyPatch, clock: ManualClock) -> None:
    started = time.time()
    real_wait = Wake.wait

    def evalsha(self: Server, verb: str, args: Sequence[Any]) -> tuple[Any, ...]:
        if not isinstance(self._clock, ManualClock):
            return ("EVALSHA", shifted(verb).sha, 1, self._base, *args)
        now = round((started + clock.advanced) * 1e6)
        return ("EVALSHA", shifted(verb).sha, 2, self._base, now, *args)

    def wait(self: Wake, seconds: float, heard: int) -> bool:
        if not isinstance(self._server._clock, ManualClock):
            return real_wait(self, seconds, heard)
        if self.heard == heard:
            self._server._clock.sleep(seconds)
        return self.heard != heard

    monkeypatch.setattr(Server, "_evalsha", evalsha)
    monkeypatch.setattr(server, "script", shifted)
    monkeypatch.setattr(Wake, "wait", wait)
