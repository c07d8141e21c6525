"""One schedule of the index: chaos by the weather of its seed, then calm, in which all is merged, and a last look.

python -m tests.index.schedule SEED        shows one, step by step
"""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from tests.index.cast import FIELDS, KEYS, Company, compactor, reader, writer
from tests.index.history import History
from tests.index.locking import Locking
from tests.simulation import machines
from tests.simulation.cloud import Cloud
from tests.simulation.machines import SimHost, new_host
from tests.simulation.seams import seams
from tests.simulation.world import Process, Violation, World

from dibs.index.fieldwise import rule_for
from dibs.index.index import Index
from dibs.index.merge import later
from dibs.index.schema import KEY, TIME

EVENTS = 140
FAR_AHEAD = 1e9


@dataclass
class Outcome:
    seed: int
    violation: Violation | None
    trace: list[str] = field(default_factory=list)
    troubles: dict[str, int] = field(default_factory=dict)
    merges: int = 0


Variant = type[Company] | None


def run(seed: int, *, trace: bool = False, variant: Any = None) -> Outcome:
    """`variant`: a `Company` that does something wrong, or a context manager within which the code does."""
    company_class = variant if isinstance(variant, type) else Company
    around: AbstractContextManager[Any] = nullcontext() if variant is None or company_class is variant else variant()
    world = World(f"index {seed}", trace=trace)
    world.doubles = True
    play = _Play(world, company_class)
    with seams(world, play), around:
        try:
            play.found()
            play.chaos()
            play.calm()
        except Violation as violation:
            world.failed(violation)
        finally:
            world.end()
    merges = sum(1 for key in play.cloud.entries if key.startswith("shards/") and key.endswith(".usv"))
    return Outcome(seed, world.violation, world.trace, world.troubles, merges)


class _Play:
    def __init__(self, world: World, company_class: type[Company]) -> None:
        rng = world.rng
        self.world = world
        self.cloud = Cloud(world)
        self.hosts = [new_host(number, rng) for number in range(rng.choice((1, 2, 3)))]
        merge = rng.choice(("record", "record", "fields"))
        fields = (KEY, TIME, "_times", *FIELDS)
        rule = later if merge == "record" else rule_for(fields)
        self.history = History(rule, stale=world.weather.stale > 0)
        self.company = company_class(world, self.cloud, self.history, merge)
        self.pids = 100
        world.on_jump = lambda: machines.jump(rng.choice(self.hosts), rng)
        world.on_reboot = self._reboot
        Locking(world, self.cloud)

    def found(self) -> None:
        with self._as(Process(self.world, "founder", self.hosts[0], 1, lambda process: None)) as index:
            index.site.insist([KEY, TIME, *FIELDS])

    def chaos(self) -> None:
        rng, company = self.world.rng, self.company
        for _ in range(rng.choice((1, 2, 3))):
            self._start("writer", writer(company, rng.choice((4, 10))))
        for _ in range(rng.choice((1, 2, 3))):
            self._start("compactor", compactor(company, rng.choice((4, 10))))
        for _ in range(rng.choice((1, 2))):
            self._start("reader", reader(company, rng.choice((6, 15))))
        self.world.run(lambda: self.world.events >= EVENTS)

    def calm(self) -> None:
        """Whoever was asleep wakes only when all is merged; and must change nothing then."""
        world = self.world
        world.weather.calm()
        self.company.closing = True
        asleep = list(world.processes)
        for process in asleep:
            process.wake += FAR_AHEAD
        self._drain()
        for process in asleep:
            process.wake -= FAR_AHEAD
        world.run(lambda: False)
        self._drain()

    def _drain(self) -> None:
        """One compactor alone merges all; what there is then must be right."""
        if self.world.violation is not None:
            return
        drainer = self._start("drainer", lambda process: list(self.company.open(process).compact_all()))  # type: ignore[arg-type]
        self.world.run(lambda: drainer.over)
        if self.world.violation is not None:
            return
        left = [key for key in self.cloud.entries if key.startswith("inbox/")]
        if not drainer.over or left:
            raise Violation("stuck", f"{left} are still in the inbox")
        with self._as(Process(self.world, "checker", self.hosts[0], 2, lambda process: None)) as index:
            for key in KEYS:
                self.history.check_end(key, index._reader.line(key))
            findings = [found for found in index.verify() if found.kind not in ("lock", "manifest")]
            if findings:
                raise Violation("unsound", str(findings[0]))

    @contextmanager
    def _as(self, process: Process) -> Iterator[Index]:
        """Quietly: nothing happens meanwhile."""
        before, self.world.current = self.world.current, process
        try:
            yield self.company.open(process)
        finally:
            self.world.current = before

    def _start(self, name: str, body: Any) -> Process:
        self.pids += 1
        host = self.world.rng.choice(self.hosts)
        process = Process(self.world, f"{name}{self.pids}", host, self.pids, body)
        host.machinery.processes[self.pids] = (f"start-{self.pids}", process)
        self.world.processes.append(process)
        return process

    def _reboot(self, host: SimHost) -> None:
        if host not in self.hosts:
            return
        self.hosts[self.hosts.index(host)] = host.rebooted(self.world.rng)
        for process in list(self.world.processes):
            if process.host is host and process.alive and not process.over:
                self.world.kill(process)


if __name__ == "__main__":
    shown = run(int(sys.argv[1]), trace=True)
    print("\n".join(shown.trace), shown.violation or "all is well", sep="\n")
