"""The file queue over the simulated disk, with its changes told to the truth."""

import json

from dibs.queues.files import FilesQueue
from dibs.queues.files.layout import parse_name
from dibs.states import Cell, State

from .cloud import Cloud, SimStore
from .disk import Disk, SimFs
from .machines import SimClock
from .truth import Truth
from .world import Process, Violation, World

ROOT = "/q"
_STATES = {
    "pen": State.READY, "lea": State.CLAIMED, "sch": State.SCHEDULED, "blo": State.BLOCKED,
    "com": State.COMPLETED, "fai": State.FAILED, "can": State.CANCELLED,
}  # fmt: skip


class FilesBackend:
    queue_class: type[FilesQueue] = FilesQueue

    def __init__(self, world: World, truth: Truth) -> None:
        self._world = world
        self._truth = truth
        self.disk = Disk(world, ROOT)
        self.cloud = Cloud(world)
        self.disk.moved = self._moved
        self._sync = world.random() < 0.1
        self._shards = world.rng.choice((1, 1, 2))
        self.retention = world.rng.choice((0.0, 0.0, 600.0))
        self._options = {"sync": self._sync, "shards": self._shards, "retention": self.retention}

    def open(self, process: Process, *, pid: int | None = None) -> FilesQueue:
        """A queue object as that process would open it."""
        return self.queue_class(
            "file:/q",
            ROOT,
            fs=self.fs(process),
            store=SimStore(self._world, self.cloud, process),
            clock=SimClock(self._world, process.host),
            host=process.host,
            rng=self._world.rng,
            pid=pid,
            **self._options,  # type: ignore[arg-type]
        )

    def fs(self, process: Process) -> SimFs:
        return SimFs(self._world, self.disk, process)

    def _moved(self, source: str, target: str, data: bytes) -> None:
        before, after = _cell(source), _cell(target)
        if before is None and after is None:
            return
        task_id = (before or after)[0]  # type: ignore[index]
        try:
            if before is not None and after is not None and before[2] != after[2]:
                if before[:2] != after[:2]:
                    raise Violation("illegal step", f"{source} became {target}")
                self._truth.prioritise(task_id, after[2])
                return
            if before is not None and after is not None and before[0] != after[0]:
                raise Violation("illegal step", f"{source} became {target}")
            record = json.loads(data) if before is None else None
            self._truth.change(task_id, before and before[1], after and after[1], record)
        except Violation as violation:
            self._world.failed(violation)
            raise


def _cell(path: str) -> tuple[str, Cell, int] | None:
    """Of whom a path is, where it stands, and at which priority."""
    state = _STATES.get(path[3:6])
    if state is None:
        return None
    name = parse_name(path.rpartition("/")[2], state)
    return None if name is None else (name.id, name.cell(state), name.priority)
