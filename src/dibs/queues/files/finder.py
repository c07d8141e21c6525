"""Looking at a file queue: where a task is, what there is, how many. Reads names; opens files only to show them.

Nothing here is a transaction: a task that moves while it is looked for is looked for again.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple

from dibs.errors import BadInput
from dibs.facets import EVERYTHING, Facet, Filter, facet_from_record, plain_facet
from dibs.queues.behalf import SUFFIX, read
from dibs.queues.files.fs import Fs
from dibs.queues.files.layout import STATE_FOLDERS, Layout, Name, is_hour, is_level, is_minute, is_shard, parse_name
from dibs.queues.views import Stats
from dibs.states import Cell, State
from dibs.task import Task, decode, task_from_record
from dibs.values import replace

SAMPLE = 5000
ANY_ID = "0" * 32
ORDER = (
    State.CLAIMED, State.READY, State.SCHEDULED, State.BLOCKED, State.FAILED, State.CANCELLED, State.COMPLETED,
)  # fmt: skip


class Found(NamedTuple):
    state: State
    path: str
    name: Name

    @property
    def cell(self) -> Cell:
        return self.name.cell(self.state)


class Finder:
    def __init__(self, fs: Fs, layout: Layout) -> None:
        self._fs = fs
        self.layout = layout
        self._facets: dict[str, Facet] = {}

    def facet(self, code: str) -> Facet:
        """The facet of a code; one whose record is missing or damaged counts by its priority alone."""
        known = self._facets.get(code)
        if known is None:
            known = plain_facet(code) or self._read_facet(code)
            self._facets[code] = known
        return known

    def locate(self, task_id: str) -> Found | None:
        """Where the task is now; None when it is nowhere."""
        for _ in range(3):  # it may move from a folder not yet read to one already read
            for state in ORDER:
                for folder in self._homes(state, task_id):
                    for text in self._list(folder):
                        if text.startswith(task_id) and (name := parse_name(text, state)):
                            path = f"{folder}/{text}"
                            if self._fs.exists(path):  # a listing may be old, a look-up by name is not
                                return Found(state, path, name)
        return None

    def among(self, ids: set[str]) -> set[str]:
        """Those of these ids that are somewhere now: for many at once, each folder is read once."""
        one_of_each = {self.layout.shard(task_id): task_id for task_id in ids}.values()
        found: set[str] = set()
        for _ in range(3):  # as in `locate`
            for state in ORDER:
                if len(found) == len(ids):
                    return found
                homes = self.folders(state) if state is State.SCHEDULED else None
                for folder in homes or (home for task_id in one_of_each for home in self._homes(state, task_id)):
                    for text in self._list(folder):
                        if text[:32] in ids and parse_name(text, state):
                            found.add(text[:32])
        return found

    def read(self, found: Found) -> Task:
        """Raises FileNotFoundError when it moved on, BadInput when the file is damaged or may not be read."""
        try:
            return as_named(task_from_record(decode(self._fs.read(found.path)), found.cell), found.name)
        except PermissionError as error:
            raise BadInput(f"cannot be read: {error.strerror}") from None

    def find(self, state: State, wanted: Filter = EVERYTHING) -> Iterator[Found]:
        """Tasks of a state, oldest first within what fits a sample: a long queue is not read whole for a few."""
        for group in self._groups(state):
            for folders in group:
                names = [(text, folder) for folder in folders for text in self._list(folder)]
                for text, folder in sorted(names):
                    name = parse_name(text, state)
                    if name is not None and (wanted is EVERYTHING or wanted(self.facet(name.facet))):
                        yield Found(state, f"{folder}/{text}", name)

    def in_folder(self, state: State, folder: str) -> Iterator[Found]:
        for text in self._list(folder):
            if name := parse_name(text, state):
                yield Found(state, f"{folder}/{text}", name)

    def stats(self, now: Callable[[], float]) -> Stats:
        """`now`: the store's time. What is due by it counts as ready."""
        states: dict[str, int] = dict.fromkeys(State, 0)
        priorities: dict[int, dict[str, int]] = {}
        projects: dict[str, dict[str, int]] = {}
        labels: dict[str, dict[str, int]] = {}
        holders: set[str] = set()
        for state in State:
            counts: Counter[str] = Counter()  # by what follows the id: few differ, so few need parsing
            for folder in self.folders(state):
                counts.update(self._tails(folder))
            moment = now() if state is State.SCHEDULED and counts else 0.0
            for rest, count in counts.items():
                name = parse_name(f"{ANY_ID}{rest}", state)
                if name is None:
                    continue
                shown = State.READY if state is State.SCHEDULED and name.is_due(moment) else state
                states[shown] += count
                if state is State.CLAIMED:
                    holders.add(name.extra)
                facet = self.facet(name.facet)
                _add(priorities, facet.priority, shown, count)
                if facet.project is not None:
                    _add(projects, facet.project, shown, count)
                for label in facet.labels:
                    _add(labels, label, shown, count)
        workers = len(self._for_whom(holders))
        return Stats(states=states, priorities=priorities, projects=projects, labels=labels, workers=workers)

    def _for_whom(self, holders: set[str]) -> set[str]:
        """Those who hold something; of what a daemon holds, its journal says for whom."""
        folder = self.layout.folder("workers")
        journals = [name for name in self._list(folder) if name.endswith(SUFFIX)] if holders else []
        behalf: dict[tuple[str, int], str] = {}
        for name in journals:
            with suppress(OSError):
                behalf |= read(self._fs.read(f"{folder}/{name}")).sessions
        if not behalf:
            return holders
        held = (one.name for path in self.folders(State.CLAIMED) for one in self.in_folder(State.CLAIMED, path))
        return {behalf.get((name.id, name.epoch), name.extra) for name in held}

    def _tails(self, folder: str) -> Counter[str]:
        return Counter(text[32:] for text in self._list(folder))

    def folders(self, state: State) -> Iterator[str]:
        """Every folder that may hold tasks of a state; higher priorities, or earlier times, first."""
        root = self.layout.folder(STATE_FOLDERS[state])
        if state is State.READY:
            for level in self._levels(root):
                yield from self.inside(f"{root}/{level}", is_shard)
        elif state is State.SCHEDULED:
            for hour in self.inside(root, is_hour):
                yield from self.inside(hour, is_minute)
        else:
            yield from self.inside(root, is_shard)

    def _homes(self, state: State, task_id: str) -> Iterator[str]:
        """The folders of a state in which this task may be."""
        root = self.layout.folder(STATE_FOLDERS[state])
        if state is State.READY:
            shard = self.layout.shard(task_id)
            return (f"{root}/{level}/{shard}" for level in self._levels(root))
        if state is State.SCHEDULED:
            return self.folders(state)
        return iter([f"{root}/{self.layout.shard(task_id)}"])

    def _groups(self, state: State) -> Iterator[Iterator[list[str]]]:
        """Folders whose tasks are sorted together, each group in lots of about a sample's size."""
        if state is State.READY:
            root = self.layout.folder("pending")
            for level in self._levels(root):
                yield self._lots(self.inside(f"{root}/{level}", is_shard))
        else:
            yield self._lots(list(self.folders(state)))

    def _lots(self, folders: list[str]) -> Iterator[list[str]]:
        lot: list[str] = []
        size = 0
        for folder in folders:
            lot.append(folder)
            size += len(self._list(folder))
            if size >= SAMPLE:
                yield lot
                lot, size = [], 0
        if lot:
            yield lot

    def inside(self, folder: str, ours: Callable[[str], object]) -> list[str]:
        return [f"{folder}/{name}" for name in sorted(filter(ours, self._list(folder)))]

    def _levels(self, root: str) -> list[str]:
        return sorted(filter(is_level, self._list(root)), reverse=True)

    def _list(self, folder: str) -> list[str]:
        try:
            return self._fs.listdir(folder)
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _read_facet(self, code: str) -> Facet:
        try:
            return facet_from_record(decode(self._fs.read(f"{self.layout.folder('facets')}/{code}")))
        except (FileNotFoundError, PermissionError, BadInput):
            return Facet(int(code.partition("-")[0]))


def as_named(task: Task, name: Name) -> Task:
    """The record says which priority it was pushed with, the name which it has now."""
    return task if task.priority == name.priority else replace(task, priority=name.priority)


def _add(table: dict, name: object, state: State, count: int) -> None:  # type: ignore[type-arg]
    row = table.setdefault(name, {})
    row[state] = row.get(state, 0) + count
