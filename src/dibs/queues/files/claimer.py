"""Claiming: find a ready task, rename it under our session, read it."""

from typing import Any

from dibs import states
from dibs.errors import BadInput
from dibs.facets import Filter
from dibs.queues.files.discovery import Discovery
from dibs.queues.files.holding import Holding
from dibs.queues.files.layout import Name, parse_name
from dibs.queues.files.parts import Parts
from dibs.queues.files.session import Session
from dibs.queues.files.steering import Steering
from dibs.queues.files.upkeep import Upkeep
from dibs.queues.held import Lease
from dibs.queues.queue import Queue
from dibs.states import Cell, State
from dibs.task import checked_record, decode

UPKEEP_SECONDS = 1.0
IDLE_UPKEEP_SECONDS = 0.05


class Claimer:
    def __init__(self, queue: Queue, parts: Parts, holding: Holding, steering: Steering, upkeep: Upkeep) -> None:
        self._queue = queue
        self._parts = parts
        self._holding = holding
        self._steering = steering
        self._upkeep = upkeep
        self._discovery = Discovery(parts.fs, parts.layout, parts.rng, parts.finder.facet)
        self._last_upkeep = float("-inf")
        self._boottime = parts.clock.boottime

    def look_again(self) -> None:
        """Something became ready: what was listed may not be the best any more."""
        self._discovery.outdated = True

    def take(self, limit: int, ttl: float, wanted: Filter, *, guarded: bool) -> list[Lease]:
        with self._holding.lock:
            now = self._boottime()
            self._keep_up(now, UPKEEP_SECONDS, idle=False)
            if self._steering.is_paused():
                return []
            leases: list[Lease] = []
            session: Session | None = None
            while len(leases) < limit:
                found = self._discovery.next(wanted, now)
                if found is None:
                    if leases or not self._keep_up(now, IDLE_UPKEEP_SECONDS, idle=True):
                        break
                    continue
                if session is None or now >= session.deadline:
                    session = self._holding.session(ttl, guarded=guarded)
                lease = self._claim(found[0], found[1], session)
                if lease is not None:
                    leases.append(lease)
                now = self._boottime()
            return leases

    def _keep_up(self, now: float, every: float, *, idle: bool) -> bool:
        """True when upkeep ran and something may have become ready."""
        if now - self._last_upkeep < every:
            return False
        self._last_upkeep = now
        changed = self._upkeep.run(idle=idle)
        if changed:
            self._discovery.outdated = True
        return changed

    def _claim(self, folder: str, text: str, session: Session) -> Lease | None:
        name = parse_name(text, State.READY)
        if name is None:
            return None
        cell = states.claim(name.cell(State.READY), session.name)
        path = self._parts.layout.path(name.id, name.facet, cell)
        if self._holding.took(name.id, name.epoch) or not self._parts.cells.move(f"{folder}/{text}", path):
            self._discovery.missed()
            return None
        now = self._boottime()
        if now >= session.deadline:  # we slept: others may already take what hangs on this session
            self._parts.cells.swap(name.id, name.facet, cell, states.release(cell))
            return None
        record = self._read(path, name, cell)
        if record is None or ("key" in record and self._superseded(record["key"], name, cell)):
            return None
        lease = Lease(
            self._queue, (record, cell), epoch=cell.epoch, worker=session.name, ttl=session.ttl, deadline=session.deadline,
            since=now, token=(name.facet, cell),
        )  # fmt: skip
        self._holding.add(lease)
        return lease

    def _read(self, path: str, name: Name, cell: Cell) -> dict[str, Any] | None:
        try:
            record = checked_record(decode(self._parts.fs.read(path)))
            if record["id"] == name.id:
                return record
            reason = f"its record is that of task {record['id']}"
        except FileNotFoundError:
            return None  # taken from us already
        except PermissionError:
            self._parts.cells.swap(name.id, name.facet, cell, states.release(cell))
            raise
        except BadInput as error:
            reason = str(error)
        damage = f"damaged task file: {reason}; mend it and `dibs retry` it, or purge it"
        self._parts.notes.say(name.id, cell, "failed", error=damage)
        self._parts.cells.swap(name.id, name.facet, cell, states.fail(cell, 0))
        return None

    def _superseded(self, key: str, name: Name, cell: Cell) -> bool:
        """Drop the leftover of a push that gave up: its key names another task, and that one exists."""
        if not self._parts.keys.leftover(key, name.id, self._parts.state_of):
            return False
        self._parts.cells.swap(name.id, name.facet, cell, states.cancel(cell))
        return True
