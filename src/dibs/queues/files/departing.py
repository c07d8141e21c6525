"""Tasks that leave a file queue whole: one rename each, to `moving/<code>/<shard>/<name>.<state>.<due in ms>-<nonce>`.

`moving/<code>/to` says where they go; the code is a hash of that address. The rest of the name is what it was, so that
a task can be packed again from here alone; the nonce tells one departure from another. Nothing but this module looks
into the folder: what is in it is no task of this queue any more. Leaving is on disk before it is told, or after a power
cut a task could be in two queues.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from dibs.errors import BadInput
from dibs.facets import facet_of
from dibs.queues.files.finder import Found, as_named
from dibs.queues.files.layout import is_shard, parse_name
from dibs.queues.files.parts import Parts
from dibs.queues.files.waits import Waits
from dibs.queues.parcel import Parcel
from dibs.states import Cell, State
from dibs.task import Task, decode, encode, is_id, new_id, task_from_record
from dibs.values import replace

FEW = 4


class Departing:
    def __init__(self, parts: Parts, waits: Waits) -> None:
        self._parts = parts
        self._fs = parts.fs
        self._layout = parts.layout
        self._waits = waits
        self._root = parts.layout.folder("moving")
        self._noted: tuple[str, dict[str, list[str]]] = ("", {})

    def export(self, state: State) -> Iterator[Parcel]:
        for folder in self._parts.finder.folders(state):
            found = list(self._parts.finder.in_folder(state, folder))
            self._forget_notes()
            for one in sorted(found, key=lambda one: (self._layout.shard(one.name.id), one.name)):
                with suppress(FileNotFoundError, BadInput):  # it moved on, or is damaged: then it stays
                    yield self._found(one)

    def ids(self, state: State) -> Iterator[str]:
        finder = self._parts.finder
        return (found.name.id for folder in finder.folders(state) for found in finder.in_folder(state, folder))

    def find(self, ref: str) -> Parcel | None:
        """Raises BadInput when it is damaged."""
        task_id = ref if is_id(ref) else self._parts.lookup_key(ref)
        while task_id is not None and (found := self._parts.finder.locate(task_id)) is not None:
            self._forget_notes()
            with suppress(FileNotFoundError):  # it moved on: look again
                return self._found(found)
        return None

    def depart(self, parcels: Sequence[Parcel], to: str) -> list[Parcel]:
        folder = self._folder_for(to)
        gone: list[Parcel] = []
        touched: set[str] = set()
        for parcel in parcels:
            target = f"{folder}/{self._layout.shard(parcel.id)}/{_name(parcel)}-{new_id(self._parts.clock)[-8:]}"
            if self._parts.cells.move(parcel.token, target):
                touched |= {path.rpartition("/")[0] for path in (parcel.token, target)}
                gone.append(replace(parcel, to=to, token=target))
        self._sync(touched)
        for parcel in gone:
            if parcel.task.key is not None:
                self._parts.keys.close(parcel.task.key, parcel.id, State.CANCELLED)
        return gone

    def departed(self, to: str | None = None) -> Iterator[Parcel]:
        for code in self._list(self._root) if to is None else [_code(to)]:
            folder = f"{self._root}/{code}"
            try:
                address = str(decode(self._fs.read(f"{folder}/to"))["to"])
            except (FileNotFoundError, NotADirectoryError):
                continue
            for shard in filter(is_shard, self._list(folder)):
                names = self._list(f"{folder}/{shard}")
                self._forget_notes()
                for name in names:
                    with suppress(FileNotFoundError):  # somebody else has dismissed it
                        parcel = self._read(f"{folder}/{shard}", name)
                        if parcel is not None:
                            yield replace(parcel, to=address)

    def leaving(self, ids: Iterable[str]) -> dict[str, str]:
        """Of these, those that have departed: by id, where to."""
        wanted = set(ids)
        shards = {self._layout.shard(task_id) for task_id in wanted}
        found: dict[str, str] = {}
        for code in self._list(self._root):
            for shard in shards:
                here = [name[:32] for name in self._list(f"{self._root}/{code}/{shard}") if name[:32] in wanted]
                if here:
                    address = str(decode(self._fs.read(f"{self._root}/{code}/to"))["to"])
                    found.update(dict.fromkeys(here, address))
        return found

    def dismiss(self, parcels: Iterable[Parcel]) -> None:
        """First what hangs on a task, its file last: what was begun here is gone on with."""
        touched: set[str] = set()
        self._forget_notes()
        for parcel in sorted(parcels, key=lambda parcel: str(parcel.token)):
            if not self._fs.exists(parcel.token):
                continue  # somebody else has, and the task may even have come back since
            task = parcel.task
            for name in self._notes_of(task.id):
                self._parts.notes.take_back(f"{self._notes_folder(task.id)}/{name}")
            if task.key is not None:
                self._parts.keys.forget(task.key, task.id, self._parts.state_of)
            for waiting in self._waits.waiting_for(task.id):
                self._waits.drop_pointer(task.id, waiting)
            for ref in task.after:
                self._waits.drop_pointer(ref, task.id)
            with suppress(FileNotFoundError):
                self._fs.unlink(parcel.token)
            touched.add(parcel.token.rpartition("/")[0])
        self._sync(touched)

    def _found(self, found: Found) -> Parcel:
        task, cell = self._parts.finder.read(found), found.cell
        holder = cell.holder if cell.state is State.COMPLETED else ""
        return self._packed(task, cell._replace(holder=holder), found.path)

    def _read(self, folder: str, name: str) -> Parcel | None:
        """None for a file that is not ours. Raises BadInput when a task is damaged."""
        base, state, due = [*name.rsplit(".", 2), "", ""][:3]
        due = due.partition("-")[0]
        parsed = parse_name(base, State.BLOCKED)
        if parsed is None or state not in list(State) or not due.isdigit():
            return None
        cell = parsed.cell(State.BLOCKED)._replace(state=State(state), due=int(due) / 1000)
        path = f"{folder}/{name}"
        task = task_from_record(decode(self._fs.read(path)), cell)
        return self._packed(as_named(task, parsed), cell, path)

    def _packed(self, task: Task, cell: Cell, path: str) -> Parcel:
        history = self._parts.notes.history(task.id, cell, self._notes_of(task.id)) if cell.epoch else ()
        return Parcel(task=task, due=cell.due, holder=cell.holder, history=history, token=path)

    def _notes_of(self, task_id: str) -> list[str]:
        """The names of its notes; those of one shard are listed once for all tasks that follow each other."""
        folder = self._notes_folder(task_id)
        if self._noted[0] != folder:
            self._noted = (folder, self._parts.notes.by_task(folder))
        return self._noted[1].get(task_id, [])

    def _notes_folder(self, task_id: str) -> str:
        return self._layout.note(task_id, 0, "").rpartition("/")[0]

    def _forget_notes(self) -> None:
        """Names of tasks were listed anew: what was noted until then is to be seen."""
        self._noted = ("", {})

    def _folder_for(self, to: str) -> str:
        folder = f"{self._root}/{_code(to)}"
        if not self._fs.exists(f"{folder}/to"):
            self._parts.cells.make_folder(folder)
            scratch = self._layout.scratch(f"{new_id(self._parts.clock)}.note")
            self._fs.write(scratch, encode({"to": to}), sync=self._parts.sync)
            self._fs.rename(scratch, f"{folder}/to")
            self._sync({folder})
        return folder

    def _sync(self, folders: set[str]) -> None:
        if not self._parts.sync or not folders:
            return
        if len(folders) > FEW:
            self._fs.sync_all(self._layout.root)
            return
        for folder in sorted(folders):
            with suppress(FileNotFoundError):  # empty by now, and tidied away
                self._parts.cells.sync_folders(folder)

    def _list(self, folder: str) -> list[str]:
        try:
            return sorted(self._fs.listdir(folder))
        except (FileNotFoundError, NotADirectoryError):
            return []


def _code(to: str) -> str:
    return hashlib.sha256(to.encode()).hexdigest()[:12]


def _name(parcel: Parcel) -> str:
    task = parcel.task
    name = f"{task.id}.{task.epoch}.{task.attempts}.{task.deaths}.{facet_of(task).code}"
    return f"{name}.{task.state}.{round(parcel.due * 1000)}"
