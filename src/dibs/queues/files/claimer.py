"""Claiming: find a ready task, rename it under our session, read it."""

from typing import Any

from dibs.errors import BadInput, StorageError
from dibs.facets import Filter
from dibs.queues.files.discovery import Discovery
from dibs.queues.files.holding import Holding
from dibs.queues.files.layout import Ready
from dibs.queues.files.parts import Parts
from dibs.queues.files.session import Session
from dibs.queues.files.steering import Steering
from dibs.queues.files.upkeep import Upkeep
from dibs.queues.held import Lease
from dibs.queues.queue import Queue
from dibs.states import Cell, cancel, claim, fail, fresh, release
from dibs.task import checked_record, decode

UPKEEP_SECONDS = 1.0
GLANCE_SECONDS = 0.05  # how often a busy claimer looks whether the queue is paused, and an idle one for dead workers


class Claimer:
    def __init__(self, queue: Queue, parts: Parts, holding: Holding, steering: Steering, upkeep: Upkeep) -> None:
        self._queue = queue
        self._parts = parts
        self._holding = holding
        self._steering = steering
        self._upkeep = upkeep
        self._discovery = Discovery(parts.fs, parts.layout, parts.rng, parts.finder.facet)
        self._boottime = parts.clock.boottime
        self._move = parts.cells.attempt
        self._path = parts.layout.path
        self._shard = parts.layout.shard
        self._read_file = parts.fs.read
        self._last_upkeep = self._last_glance = self._last_idle = float("-inf")
        self._paused = False

    def look_again(self) -> None:
        """Something became ready, or the queue was paused: what was seen before no longer counts."""
        self._discovery.outdated = True
        self._last_glance = float("-inf")

    def take(self, limit: int, ttl: float, wanted: Filter, guarded: bool) -> list[Lease]:
        with self._holding.lock:
            now = asked = self._boottime()
            if now - self._last_glance >= GLANCE_SECONDS:
                self._glance(now)
            if self._holding.strays:
                self._holding.return_strays()
                self._discovery.outdated = True
            if self._paused:
                return []
            leases: list[Lease] = []
            session: Session | None = None
            try:
                while len(leases) < limit:
                    found = self._discovery.next(wanted, now, asked)
                    if found is None:
                        if leases or not self._keep_up_idle(now):
                            break
                        continue
                    if session is None or now >= session.deadline:
                        session = self._holding.session(ttl, guarded, now)
                    lease = self._claim(found, session)
                    if lease is not None:
                        leases.append(lease)
                        if limit == 1:
                            break
                    now = self._boottime()
            except (OSError, StorageError):
                if not leases:
                    raise  # else what was claimed is not given up for what was not
            return leases

    def _glance(self, now: float) -> None:
        self._last_glance = now
        self._paused = self._steering.is_paused()
        if now - self._last_upkeep >= UPKEEP_SECONDS:
            self._last_upkeep = now
            self._discovery.outdated |= self._upkeep.run(idle=False)

    def _keep_up_idle(self, now: float) -> bool:
        """Nothing is ready: True when upkeep ran and something may be now."""
        if now - self._last_idle < GLANCE_SECONDS:
            return False
        self._last_idle = self._last_upkeep = now
        changed = self._upkeep.run(idle=True)
        self._discovery.outdated |= changed
        return changed

    def _claim(self, found: Ready, session: Session) -> Lease | None:
        text, task_id, epoch, attempts, deaths, facet = found
        cell = claim(fresh(int(epoch), int(attempts), int(deaths)), session.name)
        path = self._path(task_id, facet, cell)
        source = f"{self._discovery.level}/{self._shard(task_id)}/{text}"
        if task_id in self._holding.held and self._holding.took(task_id, cell.epoch):
            return None
        try:
            moved = self._move(source, path)
            if moved:
                return self._taken(task_id, facet, cell, path, session)
            if moved is not None:
                self._discovery.missed()
            return None
        except (OSError, StorageError):
            self._holding.stray(task_id, facet, cell)
            raise

    def _taken(self, task_id: str, facet: str, cell: Cell, path: str, session: Session) -> Lease | None:
        now = self._boottime()
        if now >= session.deadline:  # we slept: others may already take what hangs on this session
            self._parts.cells.swap(task_id, facet, cell, release(cell))
            return None
        record = self._read(path, task_id, facet, cell)
        if record is None or ("key" in record and self._superseded(record["key"], task_id, facet, cell)):
            return None
        token = (facet, cell, path)
        lease = self._holding.held[task_id] = Lease(
            self._queue, (record, cell), cell.epoch, session.name, session.ttl, session.deadline, now, token
        )
        return lease

    def _read(self, path: str, task_id: str, facet: str, cell: Cell) -> dict[str, Any] | None:
        try:
            record = checked_record(decode(self._read_file(path)))
            if record["id"] == task_id:
                if facet != "50" or "priority" in record:  # the name counts: it may have changed since the push
                    record["priority"] = int(facet.partition("-")[0])
                return record
            reason = f"its record is that of task {record['id']}"
        except FileNotFoundError:
            return None  # taken from us already
        except BadInput as error:
            reason = str(error)
        damage = f"damaged task file: {reason}; mend it and `dibs retry` it, or purge it"
        self._parts.notes.say(task_id, cell, "failed", error=damage)
        self._parts.cells.swap(task_id, facet, cell, fail(cell, 0))
        return None

    def _superseded(self, key: str, task_id: str, facet: str, cell: Cell) -> bool:
        """Drop the leftover of a push that gave up: its key names another task, and that one exists."""
        if not self._parts.keys.leftover(key, task_id, self._parts.state_of):
            return False
        self._parts.cells.swap(task_id, facet, cell, cancel(cell))
        return True
