"""Leases over any store: who may work on something, until when, and at which epoch.

What is leased has one record under one key: its `Cell` (state, epoch, counters), its `Holder` while claimed,
and the caller's own data. Every step is one compare-and-set from exactly the version that was read, and
every record carries a fresh nonce, so no version comes back: whoever acts on an old one is refused.

    acquire   create the record, or replace one that is free or whose holder is gone
    renew     replace it with a later beat. A late renewal is never sent, and one whose answer comes after
              the deadline does not count
    step      replace it with what follows (complete, release, fail …), or fail with Lost

Whether a holder is gone is for `liveness.Watch` to judge, never for a host's wall clock. A lost answer is settled by
reading back (`stores.settle`). Releasing keeps the record and so the epochs. Nothing is ever deleted here.
"""

import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple
from zlib import crc32

from dibs import states
from dibs.clock import Clock, iso
from dibs.errors import BadInput
from dibs.liveness import Holder, Verdict, Watch, holder_from_record
from dibs.states import Cell, State
from dibs.stores import settle
from dibs.stores.store import Changed, Entry, Exists, Store, Unsure
from dibs.task import decode, encode
from dibs.values import dataclass, field, replace

UNKNOWN_TTL = 60.0
ROUNDING_SECONDS = 2.0  # stores give times in whole seconds, and have more than one machine
FOR_EVER = 1 << 62


class Lost(Exception):
    """The lease is no longer held. `now` is what is there instead, if anything."""

    def __init__(self, now: "Record | None") -> None:
        super().__init__(now)
        self.now = now


@dataclass(frozen=True, slots=True)
class Record:
    cell: Cell
    holder: Holder | None = None
    until: float | None = None  # boottime of the holder's boot: not renewed past this (max_runtime)
    data: Mapping[str, Any] = field(default_factory=dict)

    def held_as(self, epoch: int, session: str) -> bool:
        cell = self.cell
        return cell.state is State.CLAIMED and cell.epoch == epoch and cell.holder == session

    @property
    def overrun(self) -> bool:
        """It was, or would have been, renewed for as long as it may be."""
        return self.until is not None and self.deadline >= self.until - 0.001

    @property
    def deadline(self) -> float:
        """Boottime, of the holder's boot, at which the lease runs out unless renewed."""
        return self.holder.beat + self.holder.ttl if self.holder else 0.0


class Seen(NamedTuple):
    record: Record
    version: str
    modified: float | None = None  # the store's time at which this version was written, where it says so


class Leases:
    """The records below one store. Safe for threads."""

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock,
        rng: random.Random,
        watch: Watch,
        describe: Callable[[Holder], Mapping[str, Any]] = lambda holder: {},
    ) -> None:
        """`describe`: what else a record says of its holder, for people and other tools."""
        self._describe = describe
        self.store = store
        self.clock = clock
        self._rng = rng
        self._watch = watch

    def read(self, key: str) -> Seen | None:
        """Raises BadInput when the record is damaged or foreign."""
        entry = self.store.get(key)
        return None if entry is None else seen(entry)

    def create(self, key: str, record: Record) -> Seen:
        """Raises Exists."""
        return Seen(record, settle.create(self.store, key, self.to_bytes(record)))

    def swap(self, key: str, version: str, record: Record) -> Seen:
        """Raises Changed."""
        return Seen(record, settle.replace(self.store, key, self.to_bytes(record), version))

    def judge(self, key: str, found: Seen, boots: Iterable[tuple[str, str]] = ()) -> Verdict:
        """Of a claimed record: is its holder still there? One that names none is given a minute from now."""
        holder = found.record.holder
        if holder is not None:
            # An old reading does no harm here: the swap that follows is from exactly the version that was read.
            return self._watch.judge(holder, self.clock.boottime(), boots, lambda: self._age(found))
        return self.judge_unknown(key, found.version)

    def _age(self, found: Seen) -> float:
        """How old a version certainly is, by the store's own clock alone; 0 where that cannot be told."""
        return 0.0 if found.modified is None else self.store.now() - found.modified - ROUNDING_SECONDS

    def judge_unknown(self, key: str, version: str) -> Verdict:
        """Of a record that cannot be read: it holds while it keeps changing."""
        mark = float(crc32(version.encode()))
        return (
            Verdict.SILENT if self._watch.watched_for(key, mark, self.clock.boottime()) > UNKNOWN_TTL else Verdict.ALIVE
        )

    def acquire(self, key: str, holder: Holder) -> "Held | None":
        """The lease, or None while somebody else has it. A damaged record is replaced once it has not changed for
        a minute; its epochs are lost, but who still holds that version is refused all the same."""
        entry = self.store.get(key)
        try:
            if entry is None:
                return self.held(key, self.create(key, Record(states.claim(Cell(State.READY), holder.session), holder)))
            free = self._freed(key, entry)
            if free is None:
                return None
            taken = Record(states.claim(free.cell, holder.session), holder, data=free.data)
            return self.held(key, self.swap(key, entry.version, taken))
        except (Exists, Changed):
            return None

    def _freed(self, key: str, entry: Entry) -> Record | None:
        """The record without its holder, if that is gone; None while it is not."""
        try:
            found = seen(entry)
        except BadInput:
            unknown = self.judge_unknown(key, entry.version)
            return None if unknown is Verdict.ALIVE else Record(Cell(State.READY))
        if found.record.cell.state is not State.CLAIMED:
            return found.record
        if self.judge(key, found) is Verdict.ALIVE:
            return None
        return replace(found.record, cell=states.expire(found.record.cell, FOR_EVER))

    def held(self, key: str, found: Seen) -> "Held":
        """A claimed record, as its holder's. The deadline counts from the beat, which was taken before it was sent."""
        return Held(self, key, found)

    def to_bytes(self, record: Record) -> bytes:
        cell, holder = record.cell, record.holder
        body: dict[str, Any] = {"state": cell.state, "epoch": cell.epoch, "nonce": f"{self._rng.getrandbits(64):016x}"}
        body.update((name, value) for name, value in cell._asdict().items() if value and name not in body)
        if holder is not None:
            age = self.clock.boottime() - holder.beat
            beat = self.clock.wall() - age
            body |= {"worker_id": holder.worker, "heartbeat": iso(beat), "expiry": iso(beat + holder.ttl)}  # for people
            body |= self._describe(holder)
            body["lease"] = holder.to_record()
        if record.until is not None:
            body["until"] = record.until
        if record.data:
            body["data"] = record.data
        return encode(body)


class Held:
    """A lease in this process: what was last seen of it, and until when it may be believed in."""

    __slots__ = ("_leases", "deadline", "epoch", "kept", "key", "seen", "session", "unsure")

    def __init__(self, leases: Leases, key: str, found: Seen) -> None:
        self._leases = leases
        self.key = key
        self.seen = found
        self.epoch = found.record.cell.epoch
        self.session = found.record.cell.holder
        self.deadline = found.record.deadline
        self.kept = False  # somebody else renews it: only follow
        self.unsure = False  # a step's answer was lost for good: it may have been done

    def renew(self, holder: Holder | None = None) -> bool:
        """One more TTL from now; False when it is lost. `holder` changes who holds it, at the same epoch."""
        while True:
            record = self.seen.record
            known = holder or record.holder
            before = self._leases.clock.boottime()
            if known is None or before >= min(self.deadline, record.until or before + 1):
                return False
            beat = before if record.until is None else min(before, record.until - known.ttl)
            later = replace(record, holder=replace(known, beat=beat))
            try:
                self.seen = self._leases.swap(self.key, self.seen.version, later)
            except Changed:
                if not self.refresh():
                    return False
                continue
            if self._leases.clock.boottime() >= self.deadline:
                return False
            self.deadline = later.deadline
            self.unsure = False  # what was sent before this can no longer take effect
            return True

    def follow(self) -> bool:
        """Learn how long somebody of this boot has renewed it for; False when it is lost or was renewed too late."""
        while True:
            asked = self._leases.clock.boottime()
            if not self.refresh():
                return False
            self.deadline = max(self.deadline, self.seen.record.deadline)
            if asked >= self.deadline:
                return False
            if self._leases.clock.boottime() < self.deadline:  # else we slept, and what we read is old
                return True

    def step(self, change: Callable[[Record], Record]) -> Seen:
        """Swap in what `change` makes of the record; Lost when it is no longer ours."""
        while True:
            if not self.seen.record.held_as(self.epoch, self.session):
                raise Lost(self.found())
            try:
                self.seen = self._leases.swap(self.key, self.seen.version, change(self.seen.record))
                return self.seen
            except Unsure:
                self.unsure = True
                raise
            except Changed:
                if not self.refresh():
                    raise Lost(self.found()) from None

    def release(self) -> None:
        """Free for the next; the epochs go on. Lost when it was not ours any more."""
        self.step(lambda record: Record(states.release(record.cell), data=record.data))

    def refresh(self) -> bool:
        """Look again: True, with what is there now, when it is still this lease (somebody renewed it for us)."""
        try:
            found = self._leases.read(self.key)
        except BadInput:
            return False
        if found is None or not found.record.held_as(self.epoch, self.session):
            return False
        self.seen = found
        return True

    def found(self) -> Record | None:
        """What is there now, whosever it is."""
        try:
            found = self._leases.read(self.key)
        except BadInput:
            return None
        return found.record if found else None


def seen(entry: Entry) -> Seen:
    """Raises BadInput when it is no record of ours."""
    body = decode(entry.data)
    try:
        cell = Cell(
            State(body["state"]),
            int(body["epoch"]),
            int(body.get("attempts", 0)),
            int(body.get("deaths", 0)),
            str(body.get("holder", "")),
            float(body.get("due", 0.0)),
        )
        holder = holder_from_record(body["lease"]) if "lease" in body else None
        until = body.get("until")
        data = body.get("data", {})
        if not isinstance(data, dict):
            raise TypeError("data is not an object")
        return Seen(Record(cell, holder, None if until is None else float(until), data), entry.version, entry.modified)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadInput(f"not a lease record: {error!r}") from None
