"""What a queue shows of itself: plain values, each with a documented, stable JSON form."""

from typing import Any

from dibs.clock import iso
from dibs.task import Task
from dibs.values import asdict, dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a backend offers; the contract suite tests what is declared and that the rest is refused clearly."""

    push: bool = True  # tasks can be added through the API
    keys: bool = True
    facets: bool = True  # priority, project, labels
    scheduling: bool = True  # delay, at
    dependencies: bool = True  # after
    processes: bool = True  # other processes that open the same URL see the same queue
    settings: bool = True  # max_attempts, max_runtime, backoff per task
    order: bool = True  # higher priority first, roughly oldest first
    owned: bool = True  # payloads come back as pushed, an ended task frees its key, purge deletes; else: others' files
    records: bool = True  # tasks can be looked up, listed and steered; results, errors and ended tasks are kept
    prioritises: bool = True  # the priority of a task that waits can be changed
    admits: bool = True  # whole tasks can be moved and copied here and away, with id, attempts and history


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One lease, as seen from outside. Times are wall times for people; `age` is measured, not compared."""

    id: str
    key: str | None
    epoch: int
    worker: str
    host: str
    pid: int | None
    claimed_at: float
    heartbeat_at: float
    expires_at: float
    ttl: float
    via: str | None = None  # the daemon through which the worker claims, if it does

    def to_json(self) -> dict[str, Any]:
        record = asdict(self)
        for name in ("claimed_at", "heartbeat_at", "expires_at"):
            record[name] = iso(record[name])
        return record


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """How one lease of a task ended."""

    epoch: int
    what: str  # completed, failed, released, died, fell silent, lost its host, timed out, cancelled
    worker: str
    at: float
    error: str = ""
    result: Any = None

    def to_json(self) -> dict[str, Any]:
        record: dict[str, Any] = {"epoch": self.epoch, "what": self.what, "worker": self.worker, "at": iso(self.at)}
        if self.error:
            record["error"] = self.error
        if self.result is not None:
            record["result"] = self.result
        return record


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """Everything known about one task."""

    task: Task
    due: float | None = None  # when scheduled: the store's time
    claim: Claim | None = None
    history: tuple[Event, ...] = ()
    result: Any = None
    error: str = ""
    ended_at: float | None = None
    waits_for: tuple[tuple[str, str], ...] = ()  # (reference, its state or "unknown")
    paused: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "task": self.task.to_json(),
            "due": None if self.due is None else iso(self.due),
            "claim": None if self.claim is None else self.claim.to_json(),
            "history": [event.to_json() for event in self.history],
            "result": self.result,
            "error": self.error,
            "ended_at": None if self.ended_at is None else iso(self.ended_at),
            "waits_for": [{"ref": ref, "state": state} for ref, state in self.waits_for],
            "paused": self.paused,
        }


#: Where counts are kept, and not made by a look, those that are due are looked at one by one: no more than so many.
MOST_DUE = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Counts. `priorities`, `projects` and `labels` map a name to counts by state."""

    states: dict[str, int]
    priorities: dict[int, dict[str, int]] = field(default_factory=dict)
    projects: dict[str, dict[str, int]] = field(default_factory=dict)
    labels: dict[str, dict[str, int]] = field(default_factory=dict)
    workers: int = 0
    paused: str | None = None

    @property
    def total(self) -> int:
        return sum(self.states.values())

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "total": self.total}


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """What keeps a task from running."""

    id: str
    state: str
    text: str
    ready_at: float | None = None  # when it will become ready, if that is known

    def to_json(self) -> dict[str, Any]:
        record = asdict(self)
        record["ready_at"] = None if self.ready_at is None else iso(self.ready_at)
        return record
