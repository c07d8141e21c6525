"""The Queue contract over a folder of files that stays as it is.

    FOLDER/a/b.txt                  a task; its id is a/b.txt
    FOLDER.done/a/b.txt             its witness: a file of the same path, with any content, says that it is completed
    FOLDER.leases/a%2Fb.txt.lease   who holds it
    FOLDER.leases/failed/…          what is kept of it while nobody does (see `past`)

Removing a witness makes the task ready again, at a higher epoch. Removing the file takes the task away.
"""

import os
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from dibs.clock import SYSTEM, Clock
from dibs.errors import BadInput, TaskNotFound
from dibs.facets import Filter, facet_of, make_filter
from dibs.host import Host
from dibs.lease import Record
from dibs.queues.directory import pushing
from dibs.queues.directory.frontier import Frontier
from dibs.queues.directory.looks import Known, Looks
from dibs.queues.directory.scanning import Scanning
from dibs.queues.directory.settings import Settings, parse
from dibs.queues.directory.steps import LEASE, Steps, lease_key
from dibs.queues.leased import Look
from dibs.queues.lockfiles.lockqueue import LockQueue
from dibs.queues.lockfiles.past import Pasts
from dibs.queues.lockfiles.recovery import Recovery
from dibs.queues.pausing import Pausing
from dibs.queues.stored.root import open_root
from dibs.queues.views import Capabilities, Claim, Detail, Stats
from dibs.states import State
from dibs.stores.occupied import refuse_occupied, refuse_occupied_leases
from dibs.stores.refusal import refusals
from dibs.stores.shared import file_store
from dibs.task import Task, encode
from dibs.values import replace


class DirectoryQueue(LockQueue):
    """A queue that is a folder of files."""

    capabilities = Capabilities(
        facets=False, scheduling=False, dependencies=False, settings=False, order=False, owned=False,
        prioritises=False, admits=False,
    )  # fmt: skip
    idle_seconds = 0.5
    _steps: Steps

    @classmethod
    def open(cls, url: str, path: str, settings: dict[str, str], **options: Any) -> "DirectoryQueue":
        return cls(url, parse(url, path, settings), **options)

    def __init__(
        self,
        url: str,
        settings: Settings,
        *,
        create: bool = True,
        pid: int | str | None = "self",
        process: Callable[[], int] = os.getpid,
        clock: Clock = SYSTEM,
        host: Host | None = None,
        rng: random.Random | None = None,
    ) -> None:
        if not os.path.isdir(settings.folder):
            raise BadInput(f"{settings.folder} is no folder; dir: needs one that exists")
        refuse_occupied(settings.folder, "a folder of inputs", only_ours=True)
        refuse_occupied_leases(settings.leases)
        if create:
            with refusals(settings.leases):
                os.makedirs(settings.leases, exist_ok=True)
        store = file_store(settings.leases, clock=clock)
        super().__init__(url, store, pid=pid, process=process, clock=clock, host=host, rng=rng)
        if create or os.path.isdir(settings.leases):
            open_root(store, url, clock, create=create, retention=None)
        self._store = store
        self._settle = settings.settle
        apart = (settings.done, settings.leases)
        self._frontier = frontier = Frontier(
            settings.folder, settings.done, apart, settings.settle, store.now, self.rng
        )
        self._pasts = Pasts(store, self._leases)
        self._steps = steps = Steps(
            store, self._leases, self._pasts, frontier, clock, self.rng, settings.limits, self._task
        )
        self._recovery = Recovery(store, self._leases, self._watch, steps, LEASE)
        self._scanning = Scanning(frontier, self._pasts, self._recovery.held, store.now)
        self._looks = Looks(
            frontier, self._leases, self._pasts, steps, self._recovery.held, settings.limits, clock, self.host
        )
        self._pausing = Pausing(store, clock, fresh_seconds=0.0)

    def _cell_key(self, task_id: str) -> str:
        return lease_key(task_id)

    # Push

    def _insert(self, tasks: list[Task]) -> list[Task]:
        names = [pushing.check(task) for task in tasks]
        for task in tasks:
            encode(task.payload)
        return [self._push(task, name) for task, name in zip(tasks, names, strict=True)]

    def _push(self, task: Task, name: str) -> Task:
        added = pushing.add(self._frontier, task, name, self.store_time() - self._settle)
        known = self._known(name)
        if added or known.cell.state is not State.COMPLETED or task.unique == "completed":
            return known.task if added else replace(known.task, duplicate=True)
        if not pushing.same_content(self._frontier, task, name) or not self._steps.unwitness(name):
            raise pushing.taken(name)
        return self._known(name).task

    # Claim

    def _next(self, look: Look, wanted: Filter) -> str | None:
        return self._scanning.next(look) if wanted(facet_of(Task(id=""))) else None

    def _task(self, task_id: str) -> Task:
        return self._looks.task(task_id, self._frontier.source(task_id))

    def _record_now(self, task_id: str) -> Record | None:
        known = self._looks.known(task_id)
        return None if known is None else known.lease or Record(known.cell)

    # Look

    def tasks(
        self,
        state: str | None = None,
        *,
        project: str | None = None,
        labels: Iterable[str] = (),
        limit: int | None = None,
    ) -> Iterator[Task]:
        if not make_filter(project, labels)(facet_of(Task(id=""))):
            return iter(())
        return self._looks.tasks(state, limit)

    def claimed(self) -> list[Claim]:
        return self._looks.claims()

    def stats(self) -> Stats:
        return self._looks.stats(self.paused)

    def detail(self, ref: str) -> Detail:
        return self._looks.detail(self._known(ref), self.paused)

    def _known(self, ref: str) -> Known:
        known = self._looks.known(ref)
        if known is None:
            raise TaskNotFound(f"no file {ref!r} in {self._frontier.root}; `dibs list` shows what there is")
        return known
