"""A process of another host, or of this one, that does what it is told on its standard input. Run as a script:

    python -m hosts.member URL '{"boot": "other", "wall": 3600}'

Its identity and clocks are as asked: `boot` makes it another machine, whose boottime has nothing to do with
ours; `wall` is how wrong its wall clock is. With `by_wall` it is broken on purpose: it measures leases by wall
clocks.
Each line is a command and gets one line of answer.
"""

import json
import select
import sys
from typing import Any

import dibs
from dibs.clock import SystemClock
from dibs.host import Host, this_host
from dibs.liveness import Holder, Verdict, Watch
from dibs.queues.files import parts


class WrongClock(SystemClock):
    def __init__(self, wall: float, boottime: float, *, by_wall: bool) -> None:
        self.wrong = wall
        self._boottime = boottime
        self._by_wall = by_wall

    def boottime(self) -> float:
        return self.wall() if self._by_wall else super().boottime() + self._boottime

    def wall(self) -> float:
        return super().wall() + self.wrong

    def sleep(self, seconds: float) -> None:
        select.select([], [], [], seconds)  # faketime breaks the call that time.sleep makes


class WallWatch(Watch):
    """What must never be done: another host's time is compared with ours."""

    def judge(self, holder: Holder, *_: Any, **__: Any) -> Verdict:
        return Verdict.SILENT if self._clock.wall() - holder.beat > holder.ttl else Verdict.ALIVE


class Member:
    def __init__(
        self, url: str, wall: float = 0.0, boot: str = "", machine: str = "", by_wall: bool = False, **more: Any
    ) -> None:
        host = this_host()
        if boot:
            host = Host(name=machine or "far", machine=machine or "far", boot=boot, space="pid:[far]")
        if by_wall:
            parts.Watch = WallWatch  # type: ignore[misc]
        self.clock = WrongClock(wall, 700_000.0 if boot else 0.0, by_wall=by_wall)
        self.queue = dibs.open(url, clock=self.clock, host=host, **more)
        self.lease: Any = None

    def claim(self, ttl: str) -> str:
        self.lease = self.queue.claim(ttl=float(ttl))
        return self._shown()

    def watch(self, seconds: str, ttl: str) -> str:
        """Look again and again, for so long or until there is something."""
        self.lease = self.queue.claim(ttl=float(ttl), wait=float(seconds))
        return self._shown()

    def renew(self) -> str:
        return self._step("renew")

    def complete(self) -> str:
        return self._step("complete")

    def held(self) -> str:
        return str(self.lease.held)

    def step(self, seconds: str) -> str:
        self.clock.wrong += float(seconds)
        return "stepped"

    def _step(self, verb: str) -> str:
        try:
            getattr(self.lease, verb)()
            return "done"
        except dibs.LeaseLost as error:
            return f"lost: {error}"

    def _shown(self) -> str:
        lease = self.lease
        return "none" if lease is None else f"{lease.id} {lease.epoch} {lease.task.deaths}"


def main(url: str, options: str) -> None:
    member = Member(url, **json.loads(options))
    for line in sys.stdin:
        command, *words = line.split()
        print(getattr(member, command)(*words), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
