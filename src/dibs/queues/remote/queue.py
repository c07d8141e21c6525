"""The Queue contract by asking a daemon over HTTP. What each answer means is in `wire`; nothing is decided here."""

import random
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from dibs.clock import SYSTEM, Clock
from dibs.errors import Unsupported
from dibs.facets import Filter, make_filter
from dibs.host import Host
from dibs.queues.remote import wire
from dibs.queues.remote.address import Address, parse
from dibs.queues.remote.connections import Connections
from dibs.queues.remote.gifts import Gifts
from dibs.queues.remote.holding import Holding, at
from dibs.queues.remote.inhand import InHand
from dibs.queues.remote.session import Session
from dibs.queues.views import Capabilities, Claim, Detail, Stats, Why
from dibs.states import State
from dibs.task import Task
from dibs.values import field_names, replace

if TYPE_CHECKING:
    from dibs.queues.gate import Gate

OPENING_SECONDS = 2.0
FRESH_SECONDS = 5.0
PAGE = 500


class RemoteQueue(Holding):
    capabilities = Capabilities(admits=False)
    idle_seconds = 20.0
    first_pause = 20.0

    @classmethod
    def open(cls, url: str, path: str, settings: dict[str, str], **options: Any) -> "RemoteQueue":
        return cls(url, parse(url, settings), **options)

    def __init__(
        self,
        url: str,
        address: Address,
        *,
        create: bool = True,
        pid: int | str | None = "self",
        process: Callable[[], int] | None = None,
        clock: Clock = SYSTEM,
        host: Host | None = None,
        rng: random.Random | None = None,
    ) -> None:
        """`pid`: None for leases that only their TTL ends. `create` is the daemon's to decide."""
        super().__init__(url, clock=clock, host=host, rng=rng)
        if isinstance(pid, int):
            raise Unsupported("a daemon cannot end a lease with a process; leave --pid out and give a short --ttl")
        self._where = address
        self._connections = Connections(address, clock)
        self._session = Session(self._connections, self.host.name, clock, self._joined) if pid is not None else None
        self._asked = threading.local()
        self._gifts = Gifts()
        self._in_hand = InHand()
        self._time = (float("-inf"), 0.0)
        found = self._connections.first("", OPENING_SECONDS)["capabilities"]
        known = {name: bool(found[name]) for name in field_names(Capabilities) if name in found}
        self.capabilities = Capabilities(**{**known, "processes": True, "admits": False})

    @property
    def address(self) -> str:
        return f"{self._where.where}/{self._where.name}"

    @property
    def wakes(self) -> bool:
        return True

    def rouse(self) -> None:
        self._connections.rouse()

    # Push

    def _insert(self, tasks: list[Task]) -> list[Task]:
        answers = self._connections.post("/tasks", {"tasks": [task.to_record() for task in tasks]})["tasks"]
        return [
            replace(wire.task_of(answer["task"]), duplicate=answer["duplicate"])
            if "task" in answer
            else replace(task, id=answer["id"], state=State(answer["state"]))
            for task, answer in zip(tasks, answers, strict=True)
        ]

    # Look

    def store_time(self) -> float:
        """By what the daemon said a moment ago and the time since."""
        asked, ahead = self._time
        if self.clock.boottime() - asked >= FRESH_SECONDS:
            asked = self.clock.boottime()
            ahead = self._connections.get("/time")["time"] - self.clock.boottime()
            self._time = (asked, ahead)
        return ahead + self.clock.boottime()

    def get(self, ref: str) -> Task:
        return wire.task_of(self._connections.get(at(ref)))

    def tasks(
        self,
        state: str | None = None,
        *,
        project: str | None = None,
        labels: Iterable[str] = (),
        limit: int | None = None,
    ) -> Iterator[Task]:
        return self._listed(state, make_filter(project, labels), limit)

    def _newest(self, state: State, wanted: Filter, limit: int | None) -> Iterator[Task]:
        return self._listed(state, wanted, limit, order="newest")

    def _listed(self, state: str | None, wanted: Filter, limit: int | None, **order: str) -> Iterator[Task]:
        asked: dict[str, Any] = {"state": state, "project": wanted.project, "label": sorted(wanted.labels), **order}
        page = self._connections.get("/tasks", **asked, limit=limit, page=PAGE)
        while True:
            yield from map(wire.task_of, page["tasks"])
            if page["next"] is None:
                return
            page = self._connections.get("/tasks", next=page["next"], page=PAGE)

    def search(self, query: str, sort: str | None = None, limit: int | None = None) -> Any:
        """What the daemon finds, as `GET …/search` gives it."""
        return self._connections.get("/search", q=query, sort=sort, limit=limit)

    def claimed(self) -> list[Claim]:
        return [wire.claim_of(record) for record in self._connections.get("/claimed")["claims"]]

    def stats(self) -> Stats:
        return wire.stats_of(self._connections.get("/stats"))

    def detail(self, ref: str) -> Detail:
        return wire.detail_of(self._connections.get(f"{at(ref)}/detail"))

    def why(self, ref: str, **filters: Any) -> Why:
        wanted = make_filter(**filters)
        asked = {"project": wanted.project, "label": sorted(wanted.labels), "max_priority": wanted.max_priority}
        return wire.why_of(self._connections.get(f"{at(ref)}/why", **asked))

    # Steer

    def cancel(self, ref: str) -> Task:
        return wire.task_of(self._connections.post(f"{at(ref)}/cancel"))

    def retry(self, ref: str) -> Task:
        return wire.task_of(self._connections.post(f"{at(ref)}/retry"))

    def _prioritise(self, ref: str, priority: int) -> Task:
        return wire.task_of(self._connections.post(f"{at(ref)}/priority", {"priority": priority}))

    def pause(self, reason: str = "") -> None:
        self._connections.post("/pause", {"reason": reason})

    def resume(self) -> None:
        self._connections.post("/resume")

    @property
    def paused(self) -> str | None:
        reason: str | None = self._connections.get("")["paused"]
        return reason

    def purge(self, state: State | str = State.COMPLETED, *, older_than: float = 3600.0) -> int:
        return int(self._connections.post("/purge", {"state": str(state), "older_than": older_than})["purged"])

    # Move

    def gate(self) -> "Gate":
        raise Unsupported(
            "a daemon lets no whole tasks in or out (ids, attempts, history); "
            "use file: or whatever the daemon serves, by its own URL, for `dibs move` and `dibs copy`"
        )

    def close(self) -> None:
        super().close()
        self._give_back(self._gifts.close())
        if self._session is not None:
            self._session.leave()
        self._connections.close()
