"""The Queue contract in LMDB: every operation is one transaction over tables made for it (see `layout`)."""

import os
import random
from collections.abc import Callable, Iterable, Iterator
from threading import local
from typing import TYPE_CHECKING, Any

from dibs.clock import SYSTEM, Clock
from dibs.errors import FormatError
from dibs.facets import Filter, make_filter
from dibs.host import Host
from dibs.queues.held import Lease
from dibs.queues.lmdb.claimer import PAGE, Claimer
from dibs.queues.lmdb.database import Database
from dibs.queues.lmdb.environment import OWN, is_there
from dibs.queues.lmdb.holding import Holding
from dibs.queues.lmdb.looks import Looks
from dibs.queues.lmdb.pusher import push
from dibs.queues.lmdb.remembering import Remembering
from dibs.queues.lmdb.root import open_root
from dibs.queues.lmdb.settings import Settings, parse
from dibs.queues.lmdb.steering import Steering
from dibs.queues.lmdb.steps import Steps
from dibs.queues.lmdb.upkeep import Upkeep
from dibs.queues.lmdb.workers import Workers
from dibs.queues.views import Claim, Detail, Stats
from dibs.states import State
from dibs.stores.occupied import refuse_strangers
from dibs.task import Task

if TYPE_CHECKING:
    from dibs.queues.gate import Gate

POLL_SECONDS = 0.01  # at least, between two glances at whether anybody has changed anything
POLLS = 20  # at most, in one wait
_SLACK_SECONDS = 0.001


class LmdbQueue(Holding):
    @classmethod
    def open(cls, url: str, path: str, settings: dict[str, str], *, create: bool = True, **options: Any) -> "LmdbQueue":
        found = parse(url, path, settings)
        if not is_there(found.folder):
            refuse_strangers(found.folder, "an LMDB queue", OWN)
            if not create:
                raise FormatError(f"no queue at {url}; `dibs push {url} …` creates one")
        return cls(url, found, create=create, **options)

    def __init__(
        self,
        url: str,
        settings: Settings,
        *,
        create: bool = True,
        pid: int | str | None = "self",
        process: Callable[[], int] = os.getpid,
        clock: Clock = SYSTEM,
        host: Host | None = None,
        rng: random.Random | None = None,
    ) -> None:
        super().__init__(url, clock=clock, host=host, rng=rng)
        self._database = database = Database(settings.folder, sync=settings.sync, first_bytes=settings.first_bytes)
        try:
            retention = open_root(database, url, clock, create=create, retention=settings.retention)
        except BaseException:
            database.close()
            raise
        workers = Workers(self.host, clock, self.rng, pid, process)
        upkeep = Upkeep(workers, self.host, clock, self.rng, retention)
        self._claimer = Claimer(database, workers, upkeep, clock, self.rng)
        self._steps = Steps(database, workers, clock, self.rng)
        self._looks = Looks(database, clock, url)
        self._steering = Steering(database, clock, url)
        self._remembering = Remembering(database, upkeep.watch, self.host) if pid is None else None
        self._beaten = {}
        self._before = local()
        self._roused = 0
        if self._remembering is not None:
            self._remembering.recall()

    @property
    def address(self) -> str:
        return f"lmdb:{os.path.realpath(self._database.folder)}"

    def _insert(self, tasks: list[Task]) -> list[Task]:
        return push(self._database, self.clock, tasks)

    # Claim

    def _take(self, limit: int, ttl: float, wanted: Filter) -> list[Lease]:
        leases: list[Lease] = []
        while len(leases) < limit:
            asked = min(limit - len(leases), PAGE)
            found = self._claimer.claim(asked, ttl, wanted, self.guard_pid)
            leases += self._leases(found, ttl)
            if len(found.tasks) < asked:
                break
        return leases

    def _wait(self, seconds: float) -> None:
        """Ends when anybody has changed anything since the look before: that is seen without a transaction."""
        before = getattr(self._before, "seen", None), self._roused
        due = self._claimer.wait
        if due is not None:
            seconds = min(seconds, max(due, 0.0) + _SLACK_SECONDS)
        end, poll = self.clock.boottime() + seconds, max(POLL_SECONDS, seconds / POLLS)
        while (left := end - self.clock.boottime()) > 0:
            self.clock.sleep(min(left, poll))
            now = self._database.last, self._roused
            if now != before:
                break
        self._before.seen = self._database.last

    def rouse(self) -> None:
        self._roused += 1

    # Look

    def store_time(self) -> float:
        return self.clock.wall()

    def get(self, ref: str) -> Task:
        return self._looks.get(ref)

    def tasks(
        self,
        state: str | None = None,
        *,
        project: str | None = None,
        labels: Iterable[str] = (),
        limit: int | None = None,
    ) -> Iterator[Task]:
        return self._looks.tasks(state, make_filter(project, labels), limit)

    def _newest(self, state: State, wanted: Filter, limit: int | None) -> Iterator[Task]:
        return self._looks.tasks(state, wanted, limit, newest=True)

    def claimed(self) -> list[Claim]:
        return self._looks.claims()

    def stats(self) -> Stats:
        return self._looks.stats()

    def detail(self, ref: str) -> Detail:
        return self._looks.detail(ref)

    # Steer

    def cancel(self, ref: str) -> Task:
        return self._steering.cancel(ref)

    def retry(self, ref: str) -> Task:
        return self._steering.retry(ref)

    def _prioritise(self, ref: str, priority: int) -> Task:
        return self._steering.prioritise(ref, priority)

    def pause(self, reason: str = "") -> None:
        self._steering.pause(reason)

    def resume(self) -> None:
        self._steering.resume()

    @property
    def paused(self) -> str | None:
        return self._looks.paused()

    def purge(self, state: State | str = State.COMPLETED, *, older_than: float = 3600.0) -> int:
        return self._steering.purge(state, older_than)

    # Move

    def gate(self) -> "Gate":
        from dibs.queues.lmdb.gate import LmdbGate

        return LmdbGate(self.address, self._database, self._looks, self._claimer.tend, self.clock)

    def close(self) -> None:
        super().close()
        if self._remembering is not None:
            self._remembering.keep()
        self._database.close()
