"""Notes: what a name cannot carry (result, error, how a lease ended), written before the rename it belongs to.

`notes/<shard>/<id>.<epoch>.<session>` is the holder's own word, `….<epoch>.lost.<nonce>` what a claimer
says of a holder that is gone. A note proves nothing by itself: the task's name says what happened,
and a note of a step that was refused is ignored.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from dibs.clock import Clock
from dibs.errors import BadInput
from dibs.queues.files.fs import Fs
from dibs.queues.files.layout import Layout
from dibs.queues.history import event_record
from dibs.queues.views import Event
from dibs.states import Cell, State
from dibs.task import decode, encode

LOST = "lost."


class Notes:
    def __init__(
        self, fs: Fs, layout: Layout, clock: Clock, rng: random.Random, make_folder: Callable[[str], None]
    ) -> None:
        self._fs = fs
        self._make_folder = make_folder
        self._layout = layout
        self._clock = clock
        self._rng = rng

    def say(self, task_id: str, cell: Cell, what: str, **more: Any) -> str:
        """The holder's own word. Returns the path, for taking it back when the step is refused."""
        return self._write(self._layout.note(task_id, cell.epoch, cell.holder), what, cell.holder, more)

    def say_lost(self, task_id: str, cell: Cell, what: str, error: str) -> str:
        """Said of a holder by somebody else; named apart, so that each takes back only its own."""
        by = f"{LOST}{self._rng.getrandbits(32):08x}"
        return self._write(self._layout.note(task_id, cell.epoch, by), what, cell.holder, {"error": error})

    def repeat(self, task_id: str, cell: Cell, event: Event) -> None:
        """What was noted in the queue that the task came from."""
        record = event_record(event)
        by = cell.holder if event.what == "completed" else "moved"
        self._put(self._layout.note(task_id, record.pop("epoch"), by), encode(record))

    def _write(self, path: str, what: str, worker: str, more: dict[str, Any]) -> str:
        data = encode({"what": what, "worker": worker, "at": round(self._clock.wall(), 3), **more})
        return self._put(path, data)

    def _put(self, path: str, data: bytes) -> str:
        try:
            self._fs.write(path, data)
        except FileNotFoundError:
            self._make_folder(path.rpartition("/")[0])
            self._fs.write(path, data)
        return path

    def take_back(self, path: str) -> None:
        try:
            self._fs.unlink(path)
        except FileNotFoundError:
            pass

    def result(self, task_id: str, cell: Cell) -> Event | None:
        """What the holder said when it completed; None when it said nothing."""
        return self._read(self._layout.note(task_id, cell.epoch, cell.holder), cell.epoch, cell.holder)

    def history(self, task_id: str, cell: Cell, names: Iterable[str] | None = None) -> tuple[Event, ...]:
        """How each lease ended, oldest first. `names`: of its notes, for who has listed them."""
        if cell.epoch == 0:
            return ()
        folder = self._layout.note(task_id, 0, "").rpartition("/")[0]
        events: dict[int, Event] = {}
        for name in sorted(self.by_task(folder).get(task_id, ()) if names is None else names):
            epoch_text, _, by = name[33:].partition(".")
            epoch = int(epoch_text) if epoch_text.isdigit() else -1
            event = self._read(f"{folder}/{name}", epoch, by)
            if event is None:
                continue
            finished_here = cell.state is State.COMPLETED and epoch == cell.epoch
            if event.what == "completed" and not (finished_here and by == cell.holder):
                continue  # it tried to complete, and was refused
            lost = by.startswith(LOST)
            if lost and finished_here:
                continue  # it was thought lost, and completed after all
            if epoch not in events or lost:
                events[epoch] = event
        return tuple(events[epoch] for epoch in sorted(events))

    def by_task(self, folder: str) -> dict[str, list[str]]:
        """The names of all notes in a folder, by task."""
        names: dict[str, list[str]] = defaultdict(list)
        try:
            for name in self._fs.listdir(folder):
                if name[32:33] == ".":
                    names[name[:32]].append(name)
        except FileNotFoundError:
            pass  # nothing was ever noted here
        return names

    def _read(self, path: str, epoch: int, by: str) -> Event | None:
        try:
            record = decode(self._fs.read(path))
            return Event(
                epoch=epoch,
                what=str(record["what"]),
                worker=str(record.get("worker", by)),
                at=float(record["at"]),
                error=str(record.get("error", "")),
                result=record.get("result"),
            )
        except (FileNotFoundError, PermissionError, BadInput, KeyError, TypeError, ValueError, AttributeError):
            return None
