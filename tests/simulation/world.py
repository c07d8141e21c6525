"""Simulated time and processes: one random generator decides who runs, sleeps, stops and dies, and when.

A process is a greenlet. Every call to a medium or a clock is a `point`; now and then a point is an
event: the process is set aside (for no time at all, or for several TTLs), killed, or its call is spoiled.
A killed process is never resumed, so nothing it would have done in a `finally` reaches a medium.
"""

import random
from collections.abc import Callable
from typing import Any

from greenlet import GreenletExit, getcurrent, greenlet

EPOCH = 1_700_000_000.0  # true time begins here
LATENCY = 0.002
PATIENCE = 20_000  # events
LATEST = 2.0  # seconds that a request may be under way

LOST = "lost"  # the call takes effect, and then fails
REFUSED = "refused"  # the call fails, without effect
VANISHED = "vanished"  # the call takes effect, is repeated by the medium, and reports that nothing was there
STALE = "stale"  # a listing is old
DOUBLED = "doubled"  # the call takes effect and says so, and arrives a second time a little later


class Violation(Exception):
    """A guarantee was broken. `kind` is the short name under which tests expect it."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind = kind


class Weather:
    """What goes wrong in one schedule, and how often. Drawn from the seed: most schedules have a few troubles only."""

    def __init__(self, rng: random.Random) -> None:
        def sometimes(share: float, *rates: float) -> float:
            return rng.choice(rates) if rng.random() < share else 0.0

        self.ttl = rng.choice((4.0, 20.0, 20.0, 45.0))
        self.busy = rng.choice((2, 4, 8, 16))  # calls between two events, on average
        self.pause = sometimes(0.9, 0.05, 0.15, 0.4)
        self.crash = sometimes(0.6, 0.01, 0.03)
        self.reboot = sometimes(0.15, 0.01)
        self.jump = sometimes(0.4, 0.02)
        self.stale = sometimes(0.4, 0.05, 0.3)
        self.lost = sometimes(0.35, 0.02, 0.15)
        self.refused = sometimes(0.25, 0.02, 0.08)
        self.lag = rng.choice((1.0, 10.0, 70.0))  # how old a stale listing may be, in seconds
        self.latest = LATEST / 2  # a rename may take so long, and be held up for as long again
        self.long = rng.choice((1.5, 3.0, 6.0))  # the longest pause, in TTLs

    def calm(self) -> None:
        self.pause = self.crash = self.reboot = self.jump = self.stale = self.lost = self.refused = self.latest = 0.0


class Process(greenlet):
    """One simulated process."""

    def __init__(self, world: "World", name: str, host: Any, pid: int, body: Callable[["Process"], None]) -> None:
        super().__init__(self._main, world.hub)
        self.world = world
        self.name = name
        self.host = host
        self.pid = pid
        self.body = body
        self.wake = world.now
        self.alive = True
        self.over = False
        self.spoiled = 0  # calls that failed by our doing
        self.busy = False  # inside a call of the queue
        self.sending = False  # what it has sent arrives soon, however long it sleeps

    def _main(self) -> None:
        try:
            self.body(self)
        except Violation as violation:
            self.world.failed(violation)
        except GreenletExit:
            raise
        except Exception as error:
            import traceback

            last = "".join(traceback.format_exception(error)[-12:])
            self.world.failed(Violation("crash", f"{self.name}: {type(error).__name__}: {error}\n{last}"))
        self.over = True

    def __repr__(self) -> str:
        return self.name


class World:
    def __init__(self, seed: str, *, trace: bool = False) -> None:
        self.rng = random.Random(seed)
        self.random = self.rng.random
        self.weather = Weather(self.rng)
        self.doubles = False  # the medium is far away: what is sent may arrive twice
        self.now = EPOCH
        self.hub = getcurrent()
        self.processes: list[Process] = []
        self.current: Process | None = None
        self.late_for: Process | None = None  # a request of this process takes effect only now
        self.quiet = 1  # above 0: no events, no time passes
        self.ended = False
        self.fuse = 0
        self.events = 0
        self.violation: Violation | None = None
        self.troubles: dict[str, int] = {}
        self.tracing = trace
        self.trace: list[str] = []
        self.watchers: list[Callable[[], None]] = []  # called at every event
        self.on_death: Callable[[Process], None] = lambda process: None
        self.on_reboot: Callable[[Any], None] = lambda host: None
        self.on_jump: Callable[[], None] = lambda: None

    # Called by media and clocks

    def point(self, what: str, where: str = "") -> str | None:
        """A moment at which anything may happen. Returns how the call is spoiled, if it is."""
        if self.quiet:
            if self.ended:
                raise GreenletExit
            return None
        self.now += LATENCY
        if self.tracing:
            self.say(f"{what} {where}")
        self.fuse -= 1
        if self.fuse > 0:
            return None
        return self._event()

    def sleep(self, seconds: float) -> None:
        process = self.current
        if self.quiet or process is None:
            if self.ended:
                raise GreenletExit
            self.now += seconds
            return
        process.wake = self.now + seconds
        self._leave()

    def count(self, trouble: str) -> None:
        self.troubles[trouble] = self.troubles.get(trouble, 0) + 1

    def say(self, text: str) -> None:
        if self.tracing:
            self.trace.append(f"{self.now - EPOCH:9.3f} {self.current!r:>10}  {text}")

    def failed(self, violation: Violation) -> None:
        if self.violation is None:
            self.violation = violation
            self.say(f"VIOLATION {violation}")

    # Events

    def _event(self) -> str | None:
        self.events += 1
        weather, process = self.weather, self.current
        assert process is not None
        if self.events > PATIENCE:
            raise Violation("endless", f"{process} is still busy after {self.events} events")
        dice = self.random()
        spoiled: str | None = None
        if dice < weather.crash:
            self.kill(process)
        elif (dice := dice - weather.crash) < weather.pause:
            pause = min(self._pause(), LATEST / 2) if process.sending else self._pause()
            process.wake = self.now + pause
            self.count("long pause" if pause > 2 * weather.ttl else "pause")
            self.say(f"paused for {process.wake - self.now:.1f} s")
        elif (dice := dice - weather.pause) < weather.stale:
            spoiled = STALE
            self.count(STALE)
        elif (dice := dice - weather.stale) < weather.lost:
            spoiled = LOST if self.random() < 0.6 else VANISHED
            if self.doubles and self.random() < 0.3:
                spoiled = DOUBLED
            self.count(spoiled)
        elif (dice := dice - weather.lost) < weather.refused:
            spoiled = REFUSED
            self.count(REFUSED)
        elif (dice := dice - weather.refused) < weather.jump:
            self.on_jump()
            self.count("jump")
        elif dice - weather.jump < weather.reboot:
            self.on_reboot(process.host)
            self.count("reboot")
        if spoiled is None:
            self._leave()
        else:
            self.refuel()
        return spoiled

    def _pause(self) -> float:
        dice = self.random()
        longest = self.weather.ttl * self.weather.long
        if dice < 0.35:
            return dice
        return longest * self.random() ** 2 if dice < 0.7 else longest * (0.3 + 0.7 * self.random())

    def refuel(self) -> None:
        self.fuse = 1 + int(self.random() * 2 * self.weather.busy)

    def kill(self, process: Process) -> None:
        """SIGKILL: it is simply never resumed."""
        process.alive = False
        self.count("crash")
        self.say(f"{process.name} is killed")
        self.on_death(process)

    def _leave(self) -> None:
        self.hub.switch()
        if self.ended:
            raise GreenletExit

    # The hub

    def run(self, until: Callable[[], bool]) -> None:
        """Let processes run until `until` says so, all are over, or something is violated."""
        self.quiet = 0
        try:
            while self.violation is None and not until():
                running = [process for process in self.processes if process.alive and not process.over]
                if not running:
                    return
                now = self.now
                ready = [process for process in running if process.wake <= now]
                if not ready:
                    self.now = min(process.wake for process in running)
                    continue
                self.step(ready[int(self.random() * len(ready))] if len(ready) > 1 else ready[0])
        finally:
            self.quiet = 1

    def step(self, process: Process) -> None:
        self.current = process
        self.refuel()
        process.switch()
        self.current = None
        self.look()

    def look(self) -> None:
        self.quiet += 1
        try:
            for watcher in self.watchers:
                watcher()
        except Violation as violation:
            self.failed(violation)
        finally:
            self.quiet -= 1

    def end(self) -> None:
        """Drop all processes; whatever they still do while being dropped has no effect."""
        self.ended = True
        self.quiet = 1
        for process in self.processes:
            if process and not process.dead:
                process.throw(GreenletExit)
        self.processes.clear()
