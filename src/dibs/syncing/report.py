"""What a pass of `dibs sync` has done, and what it could not reconcile."""

from typing import Any

from dibs.moving import Refusal
from dibs.values import asdict, dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A task that was finished here though, there, it had gone to somebody else. What is there stands."""

    id: str
    key: str | None
    here: str  # the state in which it ended here
    epoch: int  # of the reservation under which that happened
    there: str  # its state there, or "gone"
    there_epoch: int
    by: str  # who holds it, or finished it, there
    result: Any = None  # of the work that was done here

    @property
    def words(self) -> str:
        named = f"{self.id} ({self.key})" if self.key else self.id
        done = f"task {named} was {self.here} here under epoch {self.epoch}"
        if self.there == "gone":
            return f"{done}, but is no longer in the shared queue"
        if self.there == "ready":
            return f"{done}, too late: its reservation ran out, and it is ready there again"
        by = f" by {self.by}" if self.by else ""
        return f"{done}, too late: there it is {self.there}{by}, epoch {self.there_epoch}, and that stands"

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "words": self.words}


@dataclass(slots=True, kw_only=True)
class Report:
    local: str
    remote: str
    sent: int = 0  # pushed here, now there
    done_here: int = 0  # pushed and completed here: told there, with their results
    brought: int = 0  # reserved there, now to be done here
    completed: int = 0  # of those that were reserved: finished here, and told there
    failed: int = 0
    cancelled: int = 0
    renewed: int = 0
    withdrawn: int = 0  # the reservation was lost before they were finished here: they are no task of ours any more
    given_back: int = 0
    vanished: int = 0  # reserved, but no longer here: moved or purged by somebody
    reserved: int = 0  # now: reserved for this site, and not finished
    conflicts: list[Conflict] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)

    @property
    def changed(self) -> bool:
        counts = (
            self.sent, self.done_here, self.brought, self.completed, self.failed, self.cancelled, self.withdrawn,
            self.given_back, self.vanished,
        )  # fmt: skip
        return any(counts) or bool(self.conflicts)

    def to_json(self) -> dict[str, Any]:
        record = asdict(self)
        record["conflicts"] = [conflict.to_json() for conflict in self.conflicts]
        record["refusals"] = [asdict(refusal) for refusal in self.refusals]
        return record
