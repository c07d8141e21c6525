"""The Queue contract in a PostgreSQL database: a task is a row, every step one UPDATE from what was seen.

Whose time has run out is decided by the database's clock alone. A holder goes by its own: from before its last claim or
renewal was sent, so it stops first. See docs/guides/postgres.md for what users need to know.
"""

import os
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from dibs.clock import SYSTEM, Clock
from dibs.facets import Filter, make_filter
from dibs.host import Host
from dibs.queues.held import Lease
from dibs.queues.postgres.address import Address, named, parse
from dibs.queues.postgres.chaining import Chain
from dibs.queues.postgres.claiming import Claimer
from dibs.queues.postgres.database import Database
from dibs.queues.postgres.driver import Connection
from dibs.queues.postgres.gate import PostgresGate
from dibs.queues.postgres.holding import Holding
from dibs.queues.postgres.identity import Identity
from dibs.queues.postgres.keeping import Keeping
from dibs.queues.postgres.listening import Listening
from dibs.queues.postgres.looks import Looks
from dibs.queues.postgres.pushing import Pusher
from dibs.queues.postgres.schema import migrate, open_schema
from dibs.queues.postgres.steering import Steering
from dibs.queues.postgres.steps import Steps
from dibs.queues.postgres.taking import Taker
from dibs.queues.postgres.telling import Telling
from dibs.queues.postgres.upkeep import Upkeep
from dibs.queues.postgres.waits import Waits
from dibs.queues.queue import BATCH
from dibs.queues.views import Capabilities, Claim, Detail, Stats
from dibs.states import State
from dibs.task import NewTask, Task, make_task


class PostgresQueue(Holding):
    capabilities = Capabilities()
    first_pause = 0.2
    idle_seconds = 12.0

    @classmethod
    def open(cls, url: str, path: str, settings: dict[str, str], **options: Any) -> "PostgresQueue":
        return cls(url, parse(url, path, settings), **options)

    @classmethod
    def migrate(cls, url: str, path: str, settings: dict[str, str]) -> tuple[int, int]:
        """Make or update the tables: (version before, version now)."""
        database = Database(parse(url, path, settings), SYSTEM)
        try:
            return migrate(database)
        finally:
            database.connections.close()

    def __init__(
        self,
        url: str,
        address: Address,
        *,
        create: bool = True,
        pid: int | str | None = "self",
        process: Callable[[], int] = os.getpid,
        clock: Clock = SYSTEM,
        host: Host | None = None,
        rng: random.Random | None = None,
    ) -> None:
        super().__init__(url, clock=clock, host=host, rng=rng)
        self._address = address
        self._database = database = Database(address, clock)
        retention = open_schema(database, create=create)
        self._waits = Waits(database)
        self._steps = steps = Steps(database, self._waits, clock)
        self._identity = Identity(database, self.host, clock, self.rng, pid, process)
        self._telling = Telling(database, clock)
        self._pusher = Pusher(database, self._waits, self._telling)
        self._upkeep = Upkeep(database, steps, self._waits, self._identity, clock, self.host, self.rng, retention)
        self._looks = Looks(database, self._waits)
        self._steering = Steering(database, self._looks, steps, clock)
        claimer = Claimer(database, clock)
        self._links = Chain(database, claimer, steps, clock)
        self._taker = Taker(claimer, self._upkeep, self._steering, clock)
        self._keeping = Keeping(database, steps, self._upkeep, self._identity, clock, self.host)
        self._listening = Listening(database)

    @property
    def address(self) -> str:
        return named(self._address)

    @property
    def sent(self) -> dict[str, int]:
        """Statements sent, by verb."""
        return dict(self._database.sent)

    # Push

    def push(self, payload: Any = None, *, connection: Connection | None = None, **more: Any) -> Task:
        """Add a task. With `connection` it is a part of the caller's transaction: there when that commits."""
        return self.push_many([NewTask(payload=payload, **more)], connection=connection)[0]

    def push_many(self, items: Iterable[Any], *, connection: Connection | None = None) -> list[Task]:
        pushed: list[Task] = []
        batch: list[Task] = []
        for item in items:
            new = item if isinstance(item, NewTask) else NewTask(payload=item)
            now = self.store_time() if new.delay else self._database.about_now()
            batch.append(make_task(new, self.clock, now))
            if len(batch) >= BATCH:
                pushed += self._pusher.push(batch, connection)
                batch = []
        if batch:
            pushed += self._pusher.push(batch, connection)
        return pushed

    def _insert(self, tasks: list[Task]) -> list[Task]:
        return self._pusher.push(tasks, None)

    # Claim

    def _take(self, limit: int, ttl: float, wanted: Filter) -> list[Lease]:
        session = self._identity.introduce(self.guard_pid)
        taken = self._taker.take(limit, ttl, wanted, session)
        return [self._lease_of(each, ttl, self.host.boot) for each in taken]

    def _wait(self, seconds: float) -> None:
        seconds = self._taker.until_event(seconds)
        if self.clock is not SYSTEM or self._address.pooler:
            self.clock.sleep(seconds)  # a time of one's own does not pass while the server is silent
        else:
            self._listening.wait(seconds)

    @property
    def wakes(self) -> bool:
        return not self._address.pooler and self._listening.works is not False

    def rouse(self) -> None:
        self._listening.rouse()

    # Look

    def store_time(self) -> float:
        return self._database.now()

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
        return self._looks.claimed()

    def stats(self) -> Stats:
        return self._looks.stats(self.paused)

    def detail(self, ref: str) -> Detail:
        return self._looks.detail(ref, self.paused)

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
        return self._steering.paused()

    def purge(self, state: State | str = State.COMPLETED, *, older_than: float = 3600.0) -> int:
        return self._steering.purge(state, older_than)

    def gate(self) -> PostgresGate:
        return PostgresGate(self.address, self._database, self._looks, self._waits, self._upkeep)

    def close(self) -> None:
        super().close()
        self._telling.flush()
        self._listening.stop()
        self._database.connections.close()
