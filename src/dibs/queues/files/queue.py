"""The queue of plain files: the Queue contract over one folder."""

import os
import random
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from dibs import states
from dibs.clock import SYSTEM, Clock
from dibs.errors import BadInput, LeaseLost, Refused, TaskNotFound
from dibs.facets import Filter, facet_of, make_filter
from dibs.host import Host
from dibs.keys import Keys
from dibs.liveness import Holder, Watch
from dibs.queues.files import looks
from dibs.queues.files.cells import Cells
from dibs.queues.files.discovery import Discovery
from dibs.queues.files.finder import Finder, Found
from dibs.queues.files.fs import Fs, LocalFs, storage_error
from dibs.queues.files.layout import Layout, parse_name
from dibs.queues.files.notes import Notes
from dibs.queues.files.pusher import Pusher
from dibs.queues.files.root import Root, open_root
from dibs.queues.files.session import Session, read_record, write_record
from dibs.queues.files.upkeep import Upkeep
from dibs.queues.files.waits import Waits
from dibs.queues.held import Lease
from dibs.queues.queue import Queue
from dibs.queues.views import Claim, Detail, Stats
from dibs.states import Cell, State
from dibs.stores.files import FilesStore
from dibs.stores.store import Store
from dibs.task import Task, decode, encode, is_id, new_id, task_from_record

UPKEEP_SECONDS = 1.0
IDLE_UPKEEP_SECONDS = 0.05
SETTINGS = ("sync", "shards", "retention")


class FilesQueue(Queue):
    """A queue in a folder."""

    idle_seconds = 0.25

    @classmethod
    def open(cls, url: str, path: str, settings: dict[str, str], **options: Any) -> "FilesQueue":
        unknown = sorted(set(settings) - set(SETTINGS))
        if unknown:
            raise BadInput(f"setting {unknown[0]!r} in {url!r} is not known; known: {', '.join(SETTINGS)}")
        if not path:
            raise BadInput(f"{url!r} names no folder; write file:PATH")
        sync = settings.get("sync", "on")
        if sync not in ("on", "off"):
            raise BadInput(f"sync={sync} in {url!r} is not known; use sync=on (default) or sync=off")
        try:
            shards = int(settings.get("shards", 64))
            retention = float(settings["retention"]) if "retention" in settings else None
        except ValueError as error:
            raise BadInput(f"{url!r}: {error}; shards and retention (seconds) are numbers") from None
        return cls(url, os.path.abspath(path), sync=sync == "on", shards=shards, retention=retention, **options)

    def __init__(
        self,
        url: str,
        path: str,
        *,
        sync: bool = True,
        shards: int = 64,
        retention: float | None = None,
        create: bool = True,
        pid: int | str | None = "self",
        fs: Fs | None = None,
        store: Store | None = None,
        clock: Clock = SYSTEM,
        host: Host | None = None,
        rng: random.Random | None = None,
    ) -> None:
        super().__init__(url, clock=clock, host=host, rng=rng)
        self._fs = fs = fs or LocalFs()
        self._pid = pid
        try:
            root = open_root(fs, path, clock, self.rng, create=create, shards=shards, retention=retention)
        except OSError as error:
            raise storage_error(error, f"cannot open queue {path}") from error
        self._assemble(root, store or FilesStore(path, sync=sync, clock=clock), sync)

    def _assemble(self, root: Root, store: Store, sync: bool) -> None:
        fs, clock = self._fs, self.clock
        self.root = root.path
        self._layout = Layout(root.path, root.shards)
        self._cells = Cells(fs, self._layout, sync=sync)
        self._finder = Finder(fs, self._layout)
        self._notes = Notes(fs, self._layout)
        self._keys = Keys(store, clock=clock, rng=self.rng)
        self._waits = Waits(fs, self._layout, self._keys.lookup, self._state_of)
        self._pusher = Pusher(
            fs, self._layout, self._cells, self._finder, self._keys, self._waits, self._withdraw, lambda: new_id(clock)
        )
        self._watch = Watch(self.host, clock)
        self._upkeep = Upkeep(
            self, fs, self._layout, self._cells, self._finder, self._notes, self._watch, clock, self.rng, root.retention
        )
        self._discovery = Discovery(fs, self._layout, self.rng, self._finder.facet)
        self._lock = threading.RLock()
        self._owner = os.getpid()
        self._sessions: dict[tuple[float, bool], Session] = {}
        self._guards: dict[str, Session] = {}
        self._held: dict[str, Lease] = {}
        self._upkeep_at = 0.0
        self._store_offset: tuple[float, float] | None = None
        self._pause_marker = self._layout.folder("paused")

    # Push

    def _insert(self, tasks: list[Task]) -> list[Task]:
        try:
            pushed = self._pusher.push(tasks, self.store_time())
            for task in pushed:
                if task.after and not task.duplicate:
                    self.unblock(task.id)
        except OSError as error:
            raise storage_error(error, f"cannot push to {self.root}") from error
        self._discovery.forget()
        return pushed

    def _withdraw(self, task: Task) -> None:
        """Our own push lost its key before it was noticed: nobody was told of it yet."""
        found = self._finder.locate(task.id)
        if found is not None and found.state in states.LIVE:
            self._cells.swap(task.id, found.name.facet, found.cell, states.cancel(found.cell))

    # Claim

    def _take(self, limit: int, ttl: float, wanted: Filter) -> list[Lease]:
        try:
            with self._lock:
                return self._take_locked(limit, ttl, wanted)
        except OSError as error:
            raise storage_error(error, f"cannot claim from {self.root}") from error

    def _take_locked(self, limit: int, ttl: float, wanted: Filter) -> list[Lease]:
        now = self.clock.boottime()
        if now >= self._upkeep_at:
            self._run_upkeep(idle=False)
        if self._fs.exists(self._pause_marker):
            return []
        leases: list[Lease] = []
        looked_again = False
        session: Session | None = None
        while len(leases) < limit:
            found = self._discovery.next(wanted, now)
            if found is None:
                if leases or looked_again or not self._run_upkeep(idle=True):
                    break
                looked_again = True
                continue
            if session is None or now >= session.deadline:
                session = self._session(ttl)
            lease = self._claim(found[0], found[1], session)
            if lease is not None:
                leases.append(lease)
            now = self.clock.boottime()
        return leases

    def _claim(self, folder: str, text: str, session: Session) -> Lease | None:
        name = parse_name(text)
        if name is None or name.extra:
            return None
        cell = states.claim(name.cell(State.READY), session.name)
        path = self._layout.path(name.id, name.facet, cell)
        if name.id in self._held or not self._cells.move(f"{folder}/{text}", path):
            self._discovery.missed()
            return None
        now = self.clock.boottime()
        if now >= session.deadline:  # we slept: others may already take what hangs on this session
            self._cells.swap(name.id, name.facet, cell, states.release(cell))
            return None
        try:
            task = task_from_record(decode(self._fs.read(path)), cell)
            if task.id != name.id:
                raise BadInput(f"its record is that of task {task.id}")
        except FileNotFoundError:
            return None
        except BadInput as error:
            self._bury(Found(State.CLAIMED, path, name), cell, str(error))
            return None
        if task.key is not None and self._superseded(task):
            self._cells.swap(name.id, name.facet, cell, states.cancel(cell))
            return None
        lease = Lease(
            self, task, epoch=cell.epoch, worker=session.name, ttl=session.ttl, deadline=session.deadline, since=now,
            token=(name.facet, cell),
        )  # fmt: skip
        self._held[name.id] = lease
        return lease

    def _superseded(self, task: Task) -> bool:
        """True when the key names another task that exists: this one is a leftover of a push that gave up."""
        assert task.key is not None
        owner = self._keys.lookup(task.key)
        return owner is not None and owner != task.id and self._finder.locate(owner) is not None

    def _bury(self, found: Found, cell: Cell, reason: str) -> None:
        """A damaged task cannot run: it goes to `failed` as it is, with the reason."""
        name = found.name
        self._note(name.id, cell, "failed", error=f"damaged task file: {reason}; mend it and `dibs retry`, or purge it")
        self._cells.swap(name.id, name.facet, cell, states.fail(cell, 0))

    def _run_upkeep(self, *, idle: bool) -> bool:
        now = self.clock.boottime()
        if idle and now < self._upkeep_at - UPKEEP_SECONDS + IDLE_UPKEEP_SECONDS:
            return False
        self._upkeep_at = now + UPKEEP_SECONDS
        changed = self._upkeep.run(idle=idle)
        if changed:
            self._discovery.forget()
        return changed

    # Sessions

    def _session(self, ttl: float) -> Session:
        """A session with most of its TTL ahead; a new one when the old one is over, or this is a forked child."""
        if self._owner != os.getpid():
            self._owner = os.getpid()
            self._sessions, self._held, self._heart = {}, {}, None
        key = (ttl, self.guarded)
        session = self._sessions.get(key)
        now = self.clock.boottime()
        if session is not None:
            if not session.guarded and now >= session.deadline - 0.9 * ttl:
                self._let_lapse(session, now)
            if session.ready(now):
                return session
            self._drop_session(session)
        pid = os.getpid() if self._pid == "self" else self._pid
        holder = self._holder(int(pid) if pid is not None else None, ttl)
        session = Session(self._fs, self._layout, self.clock, holder, guarded=self.guarded)
        session.start()
        self._sessions[key] = session
        return session

    def _holder(self, pid: int | None, ttl: float) -> Holder:
        name = f"{self.host.name}-{pid or 'cli'}-{self.rng.getrandbits(32):08x}"
        return Holder(
            session=name, worker=name, host=self.host.name, machine=self.host.machine, boot=self.host.boot,
            space=self.host.space, pid=pid, start=self.host.started(pid) if pid is not None else "", ttl=ttl,
            beat=self.clock.boottime(), since=round(self.clock.wall(), 3),
        )  # fmt: skip

    def _let_lapse(self, session: Session, now: float) -> None:
        """Before a beat renews everything under a session: give back what its holder did not renew in time."""
        for lease in [held for held in self._held.values() if held.worker == session.name and now >= held.deadline]:
            self._lapse(lease)

    def _drop_session(self, session: Session) -> None:
        for lease in [held for held in self._held.values() if held.worker == session.name]:
            self._lapse(lease)
        self._sessions = {key: known for key, known in self._sessions.items() if known is not session}

    def _lapse(self, lease: Lease) -> None:
        facet, cell = lease.token
        self._held.pop(lease.id, None)
        lease.state = "lost"
        self._cells.swap(lease.id, facet, cell, states.expire(cell, lease.task.max_deaths))

    # Steps of a holder

    def lease(self, task_id: str, epoch: int) -> Lease:
        found = self._locate(task_id)
        name = found.name
        if found.state is not State.CLAIMED or name.epoch != epoch:
            raise self._lost(task_id, epoch)
        record = read_record(self._fs, self._layout, name.extra)
        now = self.clock.boottime()
        ttl = record.ttl if record else 60.0
        known = record is not None and record.boot == self.host.boot
        deadline = record.beat + ttl if record is not None and known else now
        return Lease(
            self, self._read(found), epoch=epoch, worker=name.extra, ttl=ttl, deadline=deadline, since=now,
            token=(name.facet, found.cell),
        )  # fmt: skip

    def renew(self, lease: Lease) -> None:
        try:
            session = next((known for known in self._sessions.values() if known.name == lease.worker), None)
            if session is None:
                self._adopt(lease)
            elif not session.guarded:
                self._renew_own(lease, session)
            if not self._fs.exists(self._layout.path(lease.id, *lease.token)):
                raise self._lost(lease.id, lease.epoch, lease)
            if session is not None and session.guarded:
                lease.deadline = self.kept_until(lease)
        except OSError as error:
            raise storage_error(error, f"cannot renew task {lease.id}") from error

    def _renew_own(self, lease: Lease, session: Session) -> None:
        now = self.clock.boottime()
        limit = lease.task.max_runtime
        if limit is not None and now >= lease.since + limit:
            self.fail(lease, f"timed out: held longer than max_runtime {limit:g} s")
            lease.state = "failed"
            raise LeaseLost(f"lease lost: task {lease.id} was held longer than its max_runtime of {limit:g} s")
        with self._lock:
            if now >= lease.deadline:
                self._lapse(lease)
                raise LeaseLost(
                    f"lease lost: task {lease.id} (epoch {lease.epoch}) was not renewed within its {lease.ttl:g} s"
                )
            self._let_lapse(session, now)
            if not session.beat():
                self._drop_session(session)
                raise self._lost(lease.id, lease.epoch, lease)
            lease.deadline = session.deadline

    def _adopt(self, lease: Lease) -> None:
        """Renew a lease of a session this process does not write: move it under a fresh one, by the usual swap."""
        facet, cell = lease.token
        record = read_record(self._fs, self._layout, cell.holder)
        holder = self._holder(record.pid if record else None, lease.ttl)
        session = Session(self._fs, self._layout, self.clock, holder)
        session.start()
        renewed = cell._replace(holder=session.name)
        if not self._cells.swap(lease.id, facet, cell, renewed):
            session.close()
            raise self._lost(lease.id, lease.epoch, lease)
        lease.token, lease.worker, lease.deadline = (facet, renewed), session.name, session.deadline

    def complete(self, lease: Lease, result: Any = None) -> None:
        facet, cell = lease.token
        note = None if result is None else self._note(lease.id, cell, "completed", result=result)
        self._finish(lease, facet, cell, states.complete(cell), note)
        if self._fs.exists(self._layout.waits(lease.id)):
            self._free_waiting(lease.id)

    def release(self, lease: Lease, delay: float = 0.0) -> None:
        if delay < 0:
            raise BadInput(f"delay {delay} is negative; use seconds from now")
        facet, cell = lease.token
        due = self.store_time() + delay if delay else 0.0
        self._finish(lease, facet, cell, states.release(cell, due), None)

    def fail(self, lease: Lease, error: str, *, retry: bool = True) -> None:
        facet, cell = lease.token
        task = lease.task
        wait = states.backoff(task.backoff, task.max_backoff, cell.attempts + 1, self.rng)
        due = self.store_time() + wait if wait else 0.0
        failed = states.fail(cell, task.max_attempts if retry else 0, due)
        note = self._note(lease.id, cell, "failed", error=error)
        self._finish(lease, facet, cell, failed, note)

    def _finish(self, lease: Lease, facet: str, seen: Cell, cell: Cell, note: str | None) -> None:
        try:
            if not self._cells.swap(lease.id, facet, seen, cell):
                if note is not None:
                    self._notes.take_back(note)
                raise self._lost(lease.id, lease.epoch, lease)
        except OSError as error:
            raise storage_error(error, f"cannot move task {lease.id} to {cell.state}") from error
        self._held.pop(lease.id, None)
        if lease.task.key is not None and cell.state in states.TERMINAL:
            self._keys.close(lease.task.key, lease.id, cell.state)
        if cell.state is State.READY:
            self._discovery.forget()

    def _note(self, task_id: str, cell: Cell, what: str, **more: Any) -> str:
        event = {"what": what, "worker": cell.holder, "at": round(self.clock.wall(), 3), **more}
        try:
            return self._notes.write(task_id, cell.epoch, cell.holder, event)
        except OSError as error:
            raise storage_error(error, f"cannot note that task {task_id} {what}") from error

    def _lost(self, task_id: str, epoch: int, lease: Lease | None = None) -> LeaseLost:
        if lease is not None:
            lease.state = "lost"
            self._held.pop(task_id, None)
        found = self._finder.locate(task_id)
        if found is None:
            now = "no longer in the queue"
        elif found.state is State.CLAIMED:
            now = f"now held by {found.name.extra} (epoch {found.name.epoch})"
        else:
            now = f"now {found.state} (epoch {found.name.epoch})"
        return LeaseLost(f"lease lost: task {task_id} is {now}; work done here at epoch {epoch} is not recorded")

    # Guards

    def handle(self, lease: Lease) -> str:
        facet, cell = lease.token
        session = next((known for known in self._sessions.values() if known.name == cell.holder), None)
        if session is not None and session.guarded:
            return session.name
        with self._lock:
            guarded = self._guarded_session(lease.ttl)
            moved = cell._replace(holder=guarded.name)
            if not self._cells.swap(lease.id, facet, cell, moved):
                raise self._lost(lease.id, lease.epoch, lease)
            lease.token, lease.worker, lease.deadline = (facet, moved), guarded.name, guarded.deadline
        return guarded.name

    def _guarded_session(self, ttl: float) -> Session:
        before, self.guarded = self.guarded, True
        try:
            return self._session(ttl)
        finally:
            self.guarded = before

    def beat(self, handle: str) -> float | None:
        from dataclasses import replace

        session = self._guards.get(handle)
        try:
            if session is None:
                record = read_record(self._fs, self._layout, handle)
                if record is None or record.ended or record.boot != self.host.boot:
                    return None
                record = replace(record, guard=os.getpid(), guard_start=self.host.started(os.getpid()))
                session = Session(self._fs, self._layout, self.clock, record)
                self._guards[handle] = session
            return session.deadline if session.beat() else None
        except OSError as error:
            raise storage_error(error, f"cannot renew session {handle}") from error

    def end(self, handle: str) -> None:
        from dataclasses import replace

        session = self._guards.pop(handle, None)
        holder = session.holder if session else read_record(self._fs, self._layout, handle)
        if holder is None:
            return
        try:
            ended = replace(holder, ended=True)
            write_record(self._fs, self._layout, ended)
            self._upkeep.recover_session(ended)
        except OSError as error:
            raise storage_error(error, f"cannot end session {handle}") from error

    def kept_until(self, lease: Lease) -> float:
        record = read_record(self._fs, self._layout, lease.worker)
        if record is None or record.ended or record.boot != self.host.boot:
            return lease.deadline
        return record.beat + record.ttl

    # Look

    def store_time(self) -> float:
        now = self.clock.boottime()
        if self._store_offset is None or now - self._store_offset[0] > 1.0:
            try:
                server = self._fs.server_time(self._layout.scratch(f"{self.host.name}.clock"))
            except OSError:
                server = self.clock.wall()  # a queue that can only be read: good enough to show
            self._store_offset = (now, server - now)
        return now + self._store_offset[1]

    def get(self, ref: str) -> Task:
        return self._read(self._locate(ref))

    def tasks(
        self,
        state: str | None = None,
        *,
        project: str | None = None,
        labels: Iterable[str] = (),
        limit: int | None = None,
    ) -> Iterator[Task]:
        return looks.tasks(self._finder, state, make_filter(project, labels), limit)

    def claimed(self) -> list[Claim]:
        return looks.claims(self._fs, self._finder, self._upkeep.holders(), self.host, self.clock)

    def stats(self) -> Stats:
        from dataclasses import replace

        return replace(self._finder.stats(), paused=self.paused)

    def detail(self, ref: str) -> Detail:
        found = self._locate(ref)
        task = self._read(found)
        holders = self._upkeep.holders() if found.state is State.CLAIMED else {}
        return looks.detail(
            self._fs, found, task, self._notes, self._waits.standing(task.after), holders, self.host, self.clock, self.paused
        )

    def _locate(self, ref: str) -> Found:
        try:
            task_id = ref if is_id(ref) else self._keys.lookup(ref)
            found = None if task_id is None else self._finder.locate(task_id)
        except OSError as error:
            raise storage_error(error, f"cannot look into {self.root}") from error
        if found is None:
            raise TaskNotFound(f"no task with id or key {ref!r} in {self.root}; `dibs list` shows what there is")
        return found

    def _read(self, found: Found) -> Task:
        for _ in range(5):
            try:
                return self._finder.read(found)
            except FileNotFoundError:
                found = self._locate(found.name.id)  # it moved on
            except BadInput as error:
                return Task(id=found.name.id, payload={"damaged": str(error)}).standing(found.cell)
        return Task(id=found.name.id).standing(found.cell)

    def _state_of(self, task_id: str) -> State | None:
        found = self._finder.locate(task_id)
        return None if found is None else found.state

    # Steer

    def cancel(self, ref: str) -> Task:
        while True:
            found = self._locate(ref)
            task = self._read(found)
            cell = states.cancel(found.cell)
            if self._cells.swap(task.id, found.name.facet, found.cell, cell):
                self._settle_end(task, cell)
                return task.standing(cell)

    def retry(self, ref: str) -> Task:
        while True:
            found = self._locate(ref)
            task = self._read(found)
            cell = states.retry(found.cell)
            if task.key is not None:
                self._keys.reopen(task.key, task.id, self._state_of)
            if self._cells.swap(task.id, found.name.facet, found.cell, cell):
                self._sync_folders(task, cell)
                self._discovery.forget()
                return task.standing(cell)

    def _settle_end(self, task: Task, cell: Cell) -> None:
        self._sync_folders(task, cell)
        self.task_ended(task, cell.state)

    def _sync_folders(self, task: Task, cell: Cell) -> None:
        if self._cells.sync:
            self._fs.sync_folder(self._layout.path(task.id, facet_of(task).code, cell).rpartition("/")[0])

    def task_ended(self, task: Task, state: State) -> None:
        if task.key is not None:
            self._keys.close(task.key, task.id, state)

    def unblock(self, task_id: str) -> bool:
        """Make a blocked task ready, or scheduled, if everything it waits for is completed."""
        found = self._finder.locate(task_id)
        if found is None or found.state is not State.BLOCKED:
            return False
        try:
            task = self._finder.read(found)
        except (FileNotFoundError, BadInput):
            return False
        if not self._waits.met(task.after):
            return False
        late = task.not_before is not None and task.not_before > self.store_time()
        cell = states.promote(found.cell, task.not_before or 0.0) if late else states.promote(found.cell)
        return self._cells.swap(task_id, found.name.facet, found.cell, cell)

    def _free_waiting(self, task_id: str) -> None:
        for waiting in self._waits.waiting_for(task_id):
            if self.unblock(waiting):
                self._discovery.forget()
            self._waits.drop_pointer(task_id, waiting)

    def pause(self, reason: str = "") -> None:
        scratch = self._layout.scratch(f"{new_id(self.clock)}.note")
        try:
            self._fs.write(scratch, encode({"reason": reason, "at": self.clock.wall()}), sync=self._cells.sync)
            self._fs.rename(scratch, self._pause_marker)
        except OSError as error:
            raise storage_error(error, f"cannot pause {self.root}") from error

    def resume(self) -> None:
        try:
            self._fs.unlink(self._pause_marker)
        except FileNotFoundError:
            pass  # it was not paused: what was asked for holds
        except OSError as error:
            raise storage_error(error, f"cannot resume {self.root}") from error

    @property
    def paused(self) -> str | None:
        try:
            return str(decode(self._fs.read(self._pause_marker))["reason"])
        except FileNotFoundError:
            return None
        except (BadInput, KeyError, TypeError):
            return ""  # `touch paused` pauses too

    def purge(self, state: State | str = State.COMPLETED, *, older_than: float = 3600.0) -> int:
        if state not in states.TERMINAL:
            raise Refused(f"cannot purge tasks that are {state}; only completed, failed or cancelled ones")
        before = self.store_time() - older_than
        try:
            return sum(self.remove_ended(State(state), folder, before) for folder in self._finder.folders(State(state)))
        except OSError as error:
            raise storage_error(error, f"cannot purge {self.root}") from error

    def remove_ended(self, state: State, folder: str, before: float) -> int:
        return looks.remove_ended(
            self._fs, self._finder, self._notes, self._keys, self._layout, state, folder, before
        )

    def close(self) -> None:
        super().close()
        for session in self._sessions.values():
            if not any(lease.worker == session.name for lease in self._held.values()):
                if self._pid is not None:
                    session.close()
        self._sessions = {}
