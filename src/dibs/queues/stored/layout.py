"""Names in a stored queue.

    dibs.json                                             the format version and settings
    tasks/<shard>/<id>                                    the task's cell: its state, its record, its lease
    pending/<priority>/<shard>/<id>.<facet>.0             a seed: a task that nothing has happened to yet, whole
    payloads/<shard>/<id>                                 a large payload, apart from the cell
    pending/<priority>/<shard>/<id>.<facet>.<move>        markers: where to find the tasks of a state
    claimed/<shard>/… blocked/<shard>/…
    scheduled/<UTC hour>/<minute>/<id>.<facet>.<move>.<due in ms>
    completed/<UTC hour>/<shard>/…  failed/…  cancelled/…
    moving/<hash of the address>/<shard>/…                on their way to another queue
    keys/…  facets/<code>  waits/<dependency>/<id>  paused

The cell is the truth, a marker only says where to look. A task pushed ready, with nothing to look up about it, is
a seed: one object that is both its record and its marker. It has no cell until its first step makes one, and stays
in place until its first lease is over. Every change of state counts one `move`, and the marker's
name carries it: a marker that is not the one its cell calls for will never be right again, so that
anybody may delete it at any time, however late.
"""

import hashlib
from typing import NamedTuple

from dibs.clock import iso
from dibs.states import Cell, State
from dibs.task import is_id

FORMAT = 1
FOLDERS = {
    State.READY: "pending",
    State.SCHEDULED: "scheduled",
    State.BLOCKED: "blocked",
    State.CLAIMED: "claimed",
    State.COMPLETED: "completed",
    State.FAILED: "failed",
    State.CANCELLED: "cancelled",
}
_STATES = {folder: state for state, folder in FOLDERS.items()}
_LATEST = 253402300799.0  # the end of the year 9999


class Marker(NamedTuple):
    key: str
    state: State
    id: str
    facet: str
    move: int
    due: float

    @property
    def seed(self) -> bool:
        return self.move == 0

    @property
    def priority(self) -> int:
        number = self.facet.partition("-")[0]
        return int(number) if number.isascii() and number.isdigit() else 0


def shard(task_id: str) -> str:
    return task_id[-2:]


def cell_key(task_id: str) -> str:
    return f"tasks/{shard(task_id)}/{task_id}"


def seed_key(task_id: str, facet: str, priority: int) -> str:
    return marker_key(task_id, facet, priority, 0, Cell(State.READY), 0.0)


def payload_key(task_id: str) -> str:
    return f"payloads/{shard(task_id)}/{task_id}"


def wait_folder(ref: str) -> str:
    name = ref if is_id(ref) else "key-" + hashlib.sha256(ref.encode()).hexdigest()
    return f"waits/{name}/"


def hour_of(seconds: float) -> str:
    return iso(min(max(seconds, 0.0), _LATEST))[:13]


def marker_key(task_id: str, facet: str, priority: int, move: int, cell: Cell, ended: float) -> str:
    """The one marker that a cell calls for."""
    name = f"{task_id}.{facet}.{move}"
    folder = FOLDERS[cell.state]
    if cell.state is State.READY:
        return f"{folder}/{priority:04d}/{shard(task_id)}/{name}"
    if cell.state is State.SCHEDULED:
        due = min(max(cell.due, 0.0), _LATEST)
        return f"{folder}/{hour_of(due)}/{iso(due)[14:16]}/{name}.{due * 1000:.0f}"
    if cell.state in (State.CLAIMED, State.BLOCKED):
        return f"{folder}/{shard(task_id)}/{name}"
    return f"{folder}/{hour_of(ended)}/{shard(task_id)}/{name}"


def leaving_folder(to: str) -> str:
    return f"moving/{hashlib.sha256(to.encode()).hexdigest()[:12]}/"


def leaving_key(task_id: str, facet: str, move: int, to: str) -> str:
    return f"{leaving_folder(to)}{shard(task_id)}/{task_id}.{facet}.{move}"


def parse_marker(key: str) -> Marker | None:
    """None for what is no marker: foreign objects are left alone."""
    folder, _, rest = key.partition("/")
    parts = rest.rpartition("/")[2].split(".")
    scheduled = folder == "scheduled"
    if folder not in _STATES or len(parts) != 3 + scheduled or not is_id(parts[0]):
        return None
    if not all(part.isascii() and part.isdigit() for part in parts[2:]):
        return None
    due = int(parts[3]) / 1000 if scheduled else 0.0
    return Marker(key, _STATES[folder], parts[0], parts[1], int(parts[2]), due)
