"""Where a file queue keeps what: a task's cell is the path of its one file.

    pending/<priority>/<shard>/<id>.<epoch>.<attempts>.<deaths>.<facet>
    leased/<shard>/….<session>                  completed/<shard>/….<session>
    scheduled/<hour>/<minute>/….<due in ms>     blocked|failed|cancelled/<shard>/…

Names that do not parse are somebody else's files: ignored, never moved, never deleted.
"""

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple

from dibs.states import Cell, State

FORMATS = {"rename": 1, "marker": 2}  # by how its steps are taken: who does not know that must stay away
SHARDS = 64
FOLDERS = (
    "pending", "leased", "scheduled", "blocked", "completed", "failed", "cancelled",
    "workers", "notes", "waits", "keys", "facets", "tmp",
)  # fmt: skip
_CLAIMED = State.CLAIMED
STATE_FOLDERS = {
    State.READY: "pending",
    State.SCHEDULED: "scheduled",
    State.BLOCKED: "blocked",
    State.CLAIMED: "leased",
    State.COMPLETED: "completed",
    State.FAILED: "failed",
    State.CANCELLED: "cancelled",
}
_NUMBER = "(0|[1-9][0-9]{0,8})"
_BASE = rf"([0-9a-f]{{32}})\.{_NUMBER}\.{_NUMBER}\.{_NUMBER}\.((?:0|[1-9][0-9]{{0,3}})(?:-[0-9a-f]{{12}})?)"
_PLAIN = re.compile(_BASE + "()").fullmatch
_HELD = re.compile(_BASE.replace(_NUMBER, "([1-9][0-9]{0,8})", 1) + r"\.([a-z0-9-]+)").fullmatch  # held at an epoch
_DUE = re.compile(_BASE + r"\.([0-9]{1,15})").fullmatch
_READY_LINES: Callable[[str], list["Ready"]] = re.compile(f"^({_BASE})$", re.MULTILINE).findall
_SHAPES = {
    State.READY: _PLAIN,
    State.BLOCKED: _PLAIN,
    State.FAILED: _PLAIN,
    State.CANCELLED: _PLAIN,
    State.CLAIMED: _HELD,
    State.COMPLETED: _HELD,
    State.SCHEDULED: _DUE,
}


Ready = tuple[str, str, str, str, str, str]  # name, id, epoch, attempts, deaths, facet


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

    def is_due(self, now: float) -> bool:
        """Of a scheduled task."""
        return int(self.extra) <= now * 1000

    @property
    def priority(self) -> int:
        return int(self.facet.partition("-")[0])


def parse_name(text: str, state: State) -> Name | None:
    """None for a file that is not a task in this state's form."""
    match = _SHAPES[state](text)
    if match is None:
        return None
    task_id, epoch, attempts, deaths, facet, extra = match.groups()
    return Name(task_id, int(epoch), int(attempts), int(deaths), facet, extra)


def ready_names(listing: Iterable[str]) -> list[Ready]:
    """The tasks in a listing of a ready folder, taken apart. In one go: this is what claims live on."""
    return _READY_LINES("\n".join(listing))


# Which folders inside a state's are ours: nobody descends into any other.
is_level = re.compile("[0-9]{4}").fullmatch
is_shard = re.compile("[0-9a-f]{2}").fullmatch
is_hour = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}").fullmatch
is_minute = re.compile("[0-9]{2}").fullmatch


@cache
def _shard_table(shards: int) -> dict[str, str]:
    """The last two digits of an id -> its shard."""
    return {f"{number:02x}": f"{number & shards - 1:02x}" for number in range(256)}


class Layout:
    """Paths under one root. Pure: touches no file."""

    def __init__(self, root: str, shards: int = SHARDS) -> None:
        self.root = root
        self._shards = _shard_table(shards)
        self._leased = f"{root}/leased/"
        self._completed = f"{root}/completed/"

    def folder(self, name: str) -> str:
        return f"{self.root}/{name}"

    def shard(self, task_id: str) -> str:
        return self._shards[task_id[-2:]]

    def path(self, task_id: str, facet: str, cell: Cell) -> str:
        state, epoch, attempts, deaths, holder, due = cell
        shard = self._shards[task_id[-2:]]
        if state is _CLAIMED:
            return f"{self._leased}{shard}/{task_id}.{epoch}.{attempts}.{deaths}.{facet}.{holder}"
        if state is State.COMPLETED:
            return f"{self._completed}{shard}/{task_id}.{epoch}.{attempts}.{deaths}.{facet}.{holder}"
        name = f"{task_id}.{epoch}.{attempts}.{deaths}.{facet}"
        if state is State.READY:
            return f"{self.root}/pending/{int(facet.partition('-')[0]):04d}/{shard}/{name}"
        if state is State.SCHEDULED:
            hour, minute = slot(due)
            return f"{self.root}/scheduled/{hour}/{minute}/{name}.{round(due * 1000)}"
        return f"{self.root}/{STATE_FOLDERS[state]}/{shard}/{name}"

    def completed(self, leased: str) -> str:
        """The path of a claimed task once it is completed: the same name in another folder."""
        return self._completed + leased[len(self._leased) :]

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
    from datetime import UTC, datetime

    moment = datetime.fromtimestamp(due, UTC)
    return moment.strftime("%Y-%m-%dT%H"), moment.strftime("%M")
