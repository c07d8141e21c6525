"""The queue of plain files: the Queue contract over one folder. What each part does is in the files beside this one."""

import os
import random
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from dibs import states
from dibs.clock import SYSTEM, Clock
from dibs.errors import BadInput, LeaseLost, StorageError, TaskNotFound
from dibs.facets import Filter, make_filter
from dibs.host import Host
from dibs.queues.files import looks
from dibs.queues.files.claimer import Claimer
from dibs.queues.files.due import seen
from dibs.queues.files.finder import Found
from dibs.queues.files.fs import Fs, LocalFs, storage_error, told
from dibs.queues.files.guards import Guards
from dibs.queues.files.holding import Holding
from dibs.queues.files.memory import Memory
from dibs.queues.files.parts import Parts
from dibs.queues.files.pusher import Pusher
from dibs.queues.files.root import open_root
from dibs.queues.files.session import read_record
from dibs.queues.files.settings import read_settings
from dibs.queues.files.steering import Steering
from dibs.queues.files.upkeep import Upkeep
from dibs.queues.files.waits import Waits
from dibs.queues.held import Lease
from dibs.queues.queue import Queue
from dibs.queues.views import Claim, Detail, Stats
from dibs.states import Cell, State
from dibs.stores.store import Store
from dibs.task import Task, checked_number, is_id
from dibs.values import replace

if TYPE_CHECKING:
    from dibs.queues.gate import Gate


class FilesQueue(Queue):
    """A queue in a folder."""

    advised = False  # it was made just now, with markers, because the doctor said so

    @classmethod
    def open(cls, url: str, path: str, settings: dict[str, str], **options: Any) -> "FilesQueue":
        folder, given = read_settings(url, path, settings)
        heard: list[str] = []

        def advice() -> str:
            from dibs.queues.files.advice import advised_steps  # only a new queue needs it

            heard.append(advised_steps(folder))
            return heard[0]

        queue = cls(url, folder, **{**given, "advice": advice, **options})
        queue.advised = "marker" in heard
        return queue

    def __init__(
        self,
        url: str,
        path: str,
        *,
        sync: bool = True,
        shards: int = 64,
        retention: float | None = None,
        steps: str | None = None,
        advice: Callable[[], str] = lambda: "rename",
        create: bool = True,
        pid: int | str | None = "self",
        fs: Fs | None = None,
        store: Store | None = None,
        clock: Clock = SYSTEM,
        host: Host | None = None,
        rng: random.Random | None = None,
    ) -> None:
        """`pid`: the process that leases belong to; None for leases that only their TTL ends."""
        super().__init__(url, clock=clock, host=host, rng=rng)
        fs = fs or LocalFs()
        self.root = path
        try:
            root = open_root(
                fs, path, clock, self.rng,
                create=create, shards=shards, retention=retention, steps=steps, advice=advice,
            )  # fmt: skip
        except OSError as error:
            raise storage_error(error, f"cannot open queue {path}") from error
        self._parts = parts = Parts(fs, clock, self.host, self.rng, root, sync, store)
        self._waits = Waits(fs, parts.layout, clock, parts.lookup_key, parts.state_of)
        self._holding = Holding(parts, pid)
        self._guards = Guards(parts)
        self._steering = Steering(parts, self._waits)
        self._upkeep = Upkeep(parts, self._steering)
        self._claimer = Claimer(self, parts, self._holding, self._steering, self._upkeep)
        self._pusher = Pusher(parts, self._waits)
        self._move, self._completed = parts.cells.move, parts.layout.completed
        self._bell_heard: float | None = None
        self._memory = Memory(parts) if pid is None else None
        if self._memory is not None:
            self._memory.recall()

    # Push

    @told("push to")
    def _insert(self, tasks: list[Task]) -> list[Task]:
        pushed = self._pusher.push(tasks, self.store_time())
        for task in pushed:
            if task.after and not task.duplicate:
                self._steering.unblock(task.id)
        self._claimer.look_again()
        self._parts.ring()
        return pushed

    # Claim and finish

    def _take(self, limit: int, ttl: float, wanted: Filter) -> list[Lease]:
        try:
            return self._claimer.take(limit, ttl, wanted, self.guarded)
        except OSError as error:
            raise storage_error(error, f"cannot claim from {self.root}") from error

    def _wait(self, seconds: float) -> None:
        """Until somebody pushes: one `stat` of the bell every tenth of a second, not a look at the queue."""
        until = self.clock.boottime() + seconds
        while (left := until - self.clock.boottime()) > 0:
            self.clock.sleep(min(left, 0.05))
            heard = self._parts.bell()
            if heard != self._bell_heard:
                self._bell_heard = heard
                return

    @told("look for the lease in")
    def lease(self, task_id: str, epoch: int) -> Lease:
        found = self._locate(task_id)
        name = found.name
        if found.state is not State.CLAIMED or name.epoch != epoch:
            raise self._holding.lost(task_id, epoch)
        record = read_record(self._parts.fs, self._parts.layout, name.extra)
        now = self.clock.boottime()
        ttl = record.ttl if record else 60.0
        deadline = record.sure if record and record.boot == self.host.boot else now
        return Lease(
            self, self._read(found), epoch=epoch, worker=name.extra, ttl=ttl, deadline=deadline, since=now,
            token=(name.facet, found.cell, found.path),
        )  # fmt: skip

    @told("renew a lease in")
    def renew(self, lease: Lease) -> None:
        held = self._holding.renew(lease)
        if held and not self._parts.fs.exists(lease.token[2]):
            held = self._holding.settle(lease)
        if not held:
            raise self._holding.lost(lease.id, lease.epoch, lease)

    def complete(self, lease: Lease, result: Any = None) -> None:
        _, cell, path = lease.token
        try:
            note = None if result is None else self._parts.notes.say(lease.id, cell, "completed", result=result)
            while not self._move(path, self._completed(path)):
                if not self._holding.settle(lease):
                    raise self._refused(lease, note)
                path = lease.token[2]
            self._holding.remove(lease)
            if lease.key is not None:
                self._steering.ended(lease.task, State.COMPLETED)
            self._free_waiting(lease.id, lease.key)
        except OSError as error:
            raise storage_error(error, f"cannot complete a task of {self.root}") from error

    def _free_waiting(self, task_id: str, key: str | None) -> None:
        """Best effort: the task is completed whatever happens here, and idle workers re-check what is blocked."""
        try:
            if self._waits.in_use() and self._steering.free_waiting(task_id, key):
                self._claimer.look_again()
                self._parts.ring()
        except (OSError, StorageError):
            pass

    @told("release a task of")
    def release(self, lease: Lease, delay: float = 0.0) -> None:
        checked_number("delay", delay, 0)
        due = self.store_time() + delay if delay else 0.0
        self._finish(lease, states.release(lease.token[1], due), None)

    @told("fail a task of")
    def fail(self, lease: Lease, error: str, *, retry: bool = True) -> None:
        cell, task = lease.token[1], lease.task
        wait = states.backoff(task.backoff, task.max_backoff, cell.attempts + 1, self.rng)
        due = self.store_time() + wait if wait else 0.0
        note = self._parts.notes.say(lease.id, cell, "failed", error=error)
        self._finish(lease, states.fail(cell, task.max_attempts if retry else 0, due), note)

    def _finish(self, lease: Lease, cell: Cell, note: str | None) -> None:
        target = self._parts.layout.path(lease.id, lease.token[0], cell)
        while not self._parts.cells.move(lease.token[2], target):
            if not self._holding.settle(lease):
                raise self._refused(lease, note)
        self._holding.remove(lease)
        if cell.state is State.READY:
            self._claimer.look_again()
        elif lease.key is not None and cell.state is State.FAILED:
            self._steering.ended(lease.task, cell.state)

    def _refused(self, lease: Lease, note: str | None) -> LeaseLost:
        if note is not None:
            self._parts.notes.take_back(note)
        return self._holding.lost(lease.id, lease.epoch, lease)

    # Guards

    @told("guard a lease in")
    def handle(self, lease: Lease) -> str:
        handle = self._holding.guard(lease)
        if handle is None:
            raise self._holding.lost(lease.id, lease.epoch, lease)
        return handle

    @told("beat for a worker of")
    def beat(self, handle: str) -> float | None:
        return self._guards.beat(handle)

    @told("end a session of")
    def end(self, handle: str) -> None:
        holder = self._guards.end(handle)
        if holder is not None:
            self._upkeep.recover_session(holder)
            self._parts.ring()

    @told("look at a session of")
    def kept_until(self, lease: Lease) -> float:
        return self._holding.kept_until(lease)

    # Look

    @told("ask the time of")
    def store_time(self) -> float:
        return self._parts.store_time()

    @told("look into")
    def get(self, ref: str) -> Task:
        return self._read(self._seen(ref))

    def tasks(
        self,
        state: str | None = None,
        *,
        project: str | None = None,
        labels: Iterable[str] = (),
        limit: int | None = None,
    ) -> Iterator[Task]:
        try:
            yield from looks.tasks(
                self._parts.finder, state, make_filter(project, labels), limit, self._parts.look_time
            )
        except OSError as error:
            raise storage_error(error, f"cannot list {self.root}") from error

    def _newest(self, state: State, wanted: Filter, limit: int | None) -> Iterator[Task]:
        try:
            yield from looks.newest(self._parts, state, wanted, limit)
        except OSError as error:
            raise storage_error(error, f"cannot list {self.root}") from error

    @told("look into")
    def claimed(self) -> list[Claim]:
        return looks.claims(self._parts, self._upkeep.holders())

    @told("count")
    def stats(self) -> Stats:
        return replace(self._parts.finder.stats(self._parts.look_time), paused=self.paused)

    @told("look into")
    def detail(self, ref: str) -> Detail:
        found = self._seen(ref)
        task = self._read(found)
        holders = self._upkeep.holders() if found.state is State.CLAIMED else {}
        return looks.detail(self._parts, found, task, self._waits.standing(task.after), holders, self.paused)

    def _locate(self, ref: str) -> Found:
        task_id = ref if is_id(ref) else self._parts.lookup_key(ref)
        found = None if task_id is None else self._parts.finder.locate(task_id)
        if found is None:
            raise self._unknown(ref)
        return found

    def _seen(self, ref: str) -> Found:
        """As it is shown."""
        return seen(self._locate(ref), self._parts.look_time)

    def _unknown(self, ref: str) -> TaskNotFound:
        from dibs.queues.files.departing import Departing

        to = Departing(self._parts, self._waits).leaving([ref]).get(ref) if is_id(ref) else None
        where = f"it is on its way to {to}" if to else "`dibs list` shows what there is"
        return TaskNotFound(f"no task with id or key {ref!r} in {self.root}; {where}")

    def _read(self, found: Found) -> Task:
        for _ in range(5):
            try:
                return self._parts.finder.read(found)
            except FileNotFoundError:
                found = self._seen(found.name.id)  # it moved on
            except BadInput as error:
                return looks.damaged(found, error)
        return Task(id=found.name.id).standing(found.cell)

    # Steer

    @told("cancel a task of")
    def cancel(self, ref: str) -> Task:
        return self._steering.cancel(lambda: self._locate(ref), self._read)

    @told("retry a task of")
    def retry(self, ref: str) -> Task:
        task = self._steering.retry(lambda: self._locate(ref), self._read)
        self._claimer.look_again()
        self._parts.ring()
        return task

    @told("change the priority of a task of")
    def _prioritise(self, ref: str, priority: int) -> Task:
        task = self._steering.prioritise(lambda: self._locate(ref), self._read, priority)
        if task.state is State.READY:
            self._came_in()  # who takes only low priorities may want it now
        return task

    @told("pause")
    def pause(self, reason: str = "") -> None:
        self._steering.pause(reason)
        self._claimer.look_again()

    @told("resume")
    def resume(self) -> None:
        self._steering.resume()
        self._claimer.look_again()
        self._parts.ring()

    @property
    def paused(self) -> str | None:
        return self._steering.reason()

    @told("purge")
    def purge(self, state: State | str = State.COMPLETED, *, older_than: float = 3600.0) -> int:
        return self._steering.purge(state, older_than)

    # Move

    @property
    def address(self) -> str:
        return f"file:{os.path.realpath(self.root)}"

    def gate(self) -> "Gate":
        from dibs.queues.files.gate import FilesGate  # only moving needs it

        return FilesGate(self.address, self._parts, self._waits, self._steering, self._upkeep, self._came_in)

    def _came_in(self) -> None:
        self._claimer.look_again()
        self._parts.ring()

    def close(self) -> None:
        super().close()
        self._holding.close()
        if self._memory is not None:
            self._memory.keep()
