"""Notes: what a name cannot carry (result, error, how a lease ended), written before the rename it belongs to.

`notes/<shard>/<id>.<epoch>.<session>` is the holder's own word, `….<epoch>.lost` what a claimer
says of a holder that is gone. A note proves nothing by itself: the task's name says what happened,
and a note of a step that was refused is ignored.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from dibs.errors import BadInput
from dibs.queues.files.fs import Fs
from dibs.queues.files.layout import Layout
from dibs.queues.views import Event
from dibs.states import Cell, State
from dibs.task import decode, encode

LOST = "lost"


class Notes:
    def __init__(self, fs: Fs, layout: Layout) -> None:
        self._fs = fs
        self._layout = layout

    def write(self, task_id: str, epoch: int, by: str, event: Mapping[str, Any]) -> str:
        """Returns the path, for taking it back when the step is refused."""
        path = self._layout.note(task_id, epoch, by)
        data = encode(event)
        try:
            self._fs.write(path, data)
        except FileNotFoundError:
            self._fs.mkdir(path.rpartition("/")[0])
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

    def history(self, task_id: str, cell: Cell) -> tuple[Event, ...]:
        """How each lease ended, oldest first."""
        if cell.epoch == 0:
            return ()
        folder = self._layout.note(task_id, 0, "").rpartition("/")[0]
        events: dict[int, Event] = {}
        for name in sorted(self.by_task(folder).get(task_id, ())):
            epoch_text, _, by = name[33:].partition(".")
            epoch = int(epoch_text) if epoch_text.isdigit() else -1
            event = self._read(f"{folder}/{name}", epoch, by)
            if event is None:
                continue
            finished_here = cell.state is State.COMPLETED and epoch == cell.epoch
            if event.what == "completed" and not (finished_here and by == cell.holder):
                continue  # it tried to complete, and was refused
            if by == LOST and finished_here:
                continue  # it was thought lost, and completed after all
            if epoch not in events or by == LOST:
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
        except (FileNotFoundError, BadInput, KeyError, TypeError, ValueError, AttributeError):
            return None
