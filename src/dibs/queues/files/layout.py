"""Where a file queue keeps what: a task's cell is the path of its one file.

    pending/<priority>/<shard>/<id>.<epoch>.<attempts>.<deaths>.<facet>
    leased/<shard>/….<session>                  completed/<shard>/….<session>
    scheduled/<hour>/<minute>/….<due in ms>     blocked|failed|cancelled/<shard>/…

Names that do not parse are somebody else's files: ignored, never moved, never deleted.
"""

from datetime import UTC, datetime
from typing import NamedTuple

from dibs.states import Cell, State

FORMAT = 1
SHARDS = 64
FOLDERS = (
    "pending", "leased", "scheduled", "blocked", "completed", "failed", "cancelled",
    "workers", "notes", "waits", "keys", "facets", "tmp",
)  # fmt: skip
STATE_FOLDERS = {
    State.READY: "pending",
    State.SCHEDULED: "scheduled",
    State.BLOCKED: "blocked",
    State.CLAIMED: "leased",
    State.COMPLETED: "completed",
    State.FAILED: "failed",
    State.CANCELLED: "cancelled",
}
_HEX = frozenset("0123456789abcdef")


class Name(NamedTuple):
    """A task's file name, taken apart. `extra`: the session, or when scheduled the due time in ms."""

    id: str
    epoch: int
    attempts: int
    deaths: int
    facet: str
    extra: str = ""

    def cell(self, state: State) -> Cell:
        if state is State.SCHEDULED:
            return Cell(state, self.epoch, self.attempts, self.deaths, "", int(self.extra) / 1000)
        return Cell(state, self.epoch, self.attempts, self.deaths, self.extra)

    @property
    def priority(self) -> int:
        return int(self.facet.partition("-")[0])


def parse_name(text: str) -> Name | None:
    """None for a file that is not a task."""
    parts = text.split(".")
    try:
        task_id, epoch, attempts, deaths, facet = parts[:5]
        if (
            len(task_id) != 32
            or not _HEX.issuperset(task_id)
            or len(parts) > 6
            or not facet.partition("-")[0].isdigit()
        ):
            return None
        return Name(task_id, int(epoch), int(attempts), int(deaths), facet, parts[5] if len(parts) == 6 else "")
    except ValueError:
        return None


class Layout:
    """Paths under one root. Pure: touches no file."""

    def __init__(self, root: str, shards: int = SHARDS) -> None:
        self.root = root
        self.mask = shards - 1

    def folder(self, name: str) -> str:
        return f"{self.root}/{name}"

    def shard(self, task_id: str) -> str:
        return f"{int(task_id[-2:], 16) & self.mask:02x}"

    def path(self, task_id: str, facet: str, cell: Cell) -> str:
        name = f"{task_id}.{cell.epoch}.{cell.attempts}.{cell.deaths}.{facet}"
        shard = f"{int(task_id[-2:], 16) & self.mask:02x}"
        state = cell.state
        if state is State.CLAIMED:
            return f"{self.root}/leased/{shard}/{name}.{cell.holder}"
        if state is State.COMPLETED:
            return f"{self.root}/completed/{shard}/{name}.{cell.holder}"
        if state is State.READY:
            return f"{self.root}/pending/{int(facet.partition('-')[0]):04d}/{shard}/{name}"
        if state is State.SCHEDULED:
            hour, minute = slot(cell.due)
            return f"{self.root}/scheduled/{hour}/{minute}/{name}.{round(cell.due * 1000)}"
        return f"{self.root}/{STATE_FOLDERS[state]}/{shard}/{name}"

    def note(self, task_id: str, epoch: int, by: str) -> str:
        return f"{self.root}/notes/{self.shard(task_id)}/{task_id}.{epoch}.{by}"

    def session(self, name: str) -> str:
        return f"{self.root}/workers/{name}.json"

    def waits(self, task_id: str) -> str:
        return f"{self.root}/waits/{self.shard(task_id)}/{task_id}"

    def scratch(self, name: str) -> str:
        return f"{self.root}/tmp/{name}"


def slot(due: float) -> tuple[str, str]:
    """(hour, minute) folder of a scheduled task, UTC; names sort by time."""
    moment = datetime.fromtimestamp(due, UTC)
    return moment.strftime("%Y-%m-%dT%H"), moment.strftime("%M")
