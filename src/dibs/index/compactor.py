"""Compacting one shard: what waits in its inbox is merged into its file.

The shard's lock (`lease`) keeps workers from doing the same work twice, and no more than that: a worker that slept
through its lock finds the shard changed, and writes nothing. What makes it right is

    the shard is replaced only if it is still the version that was read, else nothing happens
    then exactly the files that were merged are deleted; no later file ever has one of their names
    merging again what was merged already changes nothing, so whoever dies in between does no harm
"""

from collections.abc import Sequence
from itertools import count
from typing import Any, NamedTuple

from dibs import states
from dibs.clock import iso
from dibs.errors import BadInput, StorageError
from dibs.index.block import Block
from dibs.index.inbox import Inbox
from dibs.index.layout import file_of, lock_of
from dibs.index.manifest import number_in
from dibs.index.merge import Merged, merged
from dibs.index.parts import Content, Damage, open_part, set_aside, updates
from dibs.index.site import Site
from dibs.lease import Held, Leases, Lost, Record, seen
from dibs.liveness import Holder, Watch
from dibs.states import Cell, State
from dibs.stores import settle
from dibs.stores.store import Changed, Entry, Exists, Unsure

LOCK_SECONDS = 300.0
MOST_FILES = 1000
MOST_BYTES = 32 << 20

MERGED = "merged"  # the inbox files that were read are in the shard, and gone
NOTHING = "nothing"  # there was nothing to do
HELD = "held"  # somebody else compacts it
CHANGED = "changed"  # somebody else wrote the shard meanwhile; it is as they left it
UNSURE = "unsure"  # the answer to the write was lost: it is done, or will be done again
GONE = "gone"  # the manifest says that the shard has records, but there is no file
REFUSED = "refused"  # its file cannot be read or written; it is as it was, and what waits goes on waiting


class Done(NamedTuple):
    """What became of one shard."""

    shard: str
    outcome: str
    files: int = 0  # inbox files merged
    records: int = 0  # in them
    lines: int = 0  # in the shard now, deletions included
    deletions: int = 0
    size: int = 0  # of the shard's file, in bytes
    damages: tuple[Damage, ...] = ()


class Job(NamedTuple):
    """A merge that is ready to be written."""

    names: list[str]  # of the inbox files in it
    records: int  # in those
    version: str | None  # of the shard that was read
    data: bytes | None  # None: the shard stays as it is
    lines: int
    deletions: int
    size: int
    damages: tuple[Damage, ...]


class Compactor:
    """One worker. Any number may work on one index."""

    def __init__(self, site: Site, inbox: Inbox, *, ttl: float = LOCK_SECONDS) -> None:
        self._site = site
        self.ttl = ttl
        self._inbox = inbox
        self._leases = Leases(
            site.locks, clock=site.clock, rng=site.rng, watch=Watch(site.host, site.clock), describe=_describe
        )
        self._serial = count()
        self._name = (0, "", "")
        self._kept = 0

    @property
    def leases(self) -> Leases:
        return self._leases

    def compact(self, shard: str, names: Sequence[str] | None = None, *, regain: bool = False) -> Done:
        """Merge what waits. `names`: the inbox files, where they are known. `regain`: also when the shard's file is
        gone though it should be there, or nothing waits. What is wrong with this shard alone is no error."""
        try:
            return self._compacted(shard, names, regain)
        except StorageError as error:
            self._site.blame(error)
            return Done(shard, REFUSED, damages=(Damage(file_of(shard), why=str(error)),))
        except BadInput as error:  # a line that is none, in a file that was written whole
            why = f"shard {shard} has a record that is none: {error}; dibs index repair puts it aside"
            return Done(shard, REFUSED, damages=(Damage(file_of(shard), why=why),))

    def _compacted(self, shard: str, names: Sequence[str] | None, regain: bool) -> Done:
        names = self._inbox.names(shard) if names is None else names
        if not names and not regain:
            return Done(shard, NOTHING)
        held = self._lock(lock_of(shard))
        if held is None:
            return Done(shard, HELD)
        done = Done(shard, UNSURE)
        manifest: dict[str, Any] = dict(held.seen.record.data)
        try:
            done = self._merge(shard, names, held, regain)
            if done.outcome == MERGED or regain:
                manifest = self._manifest(done)
        finally:
            self._release(held, manifest)
        self._keep_memory(done.size)
        return done

    def _lock(self, path: str) -> Held | None:
        """None while somebody has it. One that cannot be read names nobody, and is replaced at once, from exactly the
        version that was read: a lock saves work and protects nothing."""
        holder = self._holder()
        held = self._leases.acquire(path, holder)
        if held is not None:
            return held
        entry = self._leases.store.get(path)
        if entry is None or not _is_damaged(entry):
            return None
        taken = Record(states.claim(Cell(State.READY), holder.session), holder)
        try:
            return self._leases.held(path, self._leases.swap(path, entry.version, taken))
        except Changed:
            return None

    def _merge(self, shard: str, names: Sequence[str], held: Held, regain: bool) -> Done:
        job = self._prepared(shard, names, held, regain)
        if isinstance(job, Done):
            return job
        failed = None if job.data is None else self._write(file_of(shard), job.version, job.data, held)
        if failed is not None:
            return Done(shard, failed, damages=job.damages)
        self._inbox.merged(shard, job.names)
        return Done(shard, MERGED, len(job.names), job.records, job.lines, job.deletions, job.size, job.damages)

    def _prepared(self, shard: str, names: Sequence[str], held: Held, regain: bool) -> "Job | Done":
        """What to write. What was read is let go with the return, so that it is not in memory during the write."""
        site, path = self._site, file_of(shard)
        files = self._read(shard, names)
        entry = site.read(path)
        told = number_in(held.seen.record.data, "lines")
        if told and not regain and (entry is None or (isinstance(entry, Entry) and not entry.data)):
            return Done(shard, GONE)
        if not files and not regain:
            return Done(shard, NOTHING)
        parts = {name: open_part(site, name, shard, data) for name, data in files.items()}
        damages = [set_aside(site, part.damage, files[name]) for name, part in parts.items() if part.damage is not None]
        usable = [name for name, part in parts.items() if part.error is None]
        if entry is None and told:
            damages.append(Damage(path, had=told))  # the loss is accepted
        stored: Block | None = None
        if entry is not None:
            content: Content = entry if isinstance(entry, StorageError) else entry.data
            stored, damage, error = open_part(site, path, shard, content)
            if damage is not None:
                damages.append(set_aside(site, damage, content))
            if error is not None:
                return Done(shard, REFUSED, damages=tuple(damages))
        assert not isinstance(entry, StorageError)
        if not usable and not regain:
            return Done(shard, NOTHING, damages=tuple(damages))
        new = merged(stored, updates(site, parts.values()), site.schema.fields, site.rule, site.nonce())
        now = new or Merged(b"", 0, 0)
        if new is None and stored is not None:
            now = Merged(stored.data, stored.lines, stored.deletions)
        changed = new is not None or (entry is not None and now.data is not entry.data)  # else it was not salvaged
        return Job(
            usable,
            sum(part.block.lines for part in parts.values()),
            entry.version if entry is not None else None,
            now.data if changed else None,
            now.lines,
            now.deletions,
            len(now.data),
            tuple(damages),
        )

    def _read(self, shard: str, names: Sequence[str]) -> dict[str, Content]:
        """Of the oldest files as many as fit: the rest waits for the next time."""
        files: dict[str, Content] = {}
        size = 0
        step = max(1, self._site.store.lanes * 4)
        names = names[:MOST_FILES]
        for first in range(0, len(names), step):
            found = self._inbox.read(shard, names[first : first + step])
            files |= found
            size += sum(len(data) for data in found.values() if isinstance(data, bytes))
            if size > MOST_BYTES:
                break
        return files

    def _write(self, path: str, version: str | None, data: bytes, held: Held) -> str | None:
        """None when it is written; else why it was given up."""
        if self._site.clock.boottime() >= held.deadline and not held.refresh():
            return CHANGED
        try:
            if version is None:
                settle.create(self._site.store, path, data)
            else:
                settle.replace(self._site.store, path, data, version)
        except (Exists, Changed):
            return CHANGED
        except Unsure:
            return UNSURE
        return None

    def _manifest(self, done: Done) -> dict[str, Any]:
        return {
            "lines": done.lines,
            "deletions": done.deletions,
            "bytes": done.size,
            "merged": done.records,
            "compacted_at": iso(self._site.clock.wall()),
        }

    def _release(self, held: Held, manifest: dict[str, Any]) -> None:
        """Whoever took over the lock keeps it, and an answer that is lost is left to the lock's expiry."""
        try:
            held.step(lambda record: Record(states.release(record.cell), data=manifest))
        except (Lost, StorageError):
            pass

    def _keep_memory(self, size: int) -> None:
        """Having once freed so much in one piece (never touched), malloc keeps the memory of one shard for the next.
        Else every page of every shard is given back to the system and asked for again."""
        if size * 2 > self._kept:
            self._kept = len(bytes(size * 2))

    def _holder(self) -> Holder:
        site = self._site
        process = site.process()
        if self._name[0] != process:
            name = f"{site.host.name}-{process}-{site.rng.getrandbits(32):08x}"
            self._name = (process, name, site.host.started(process))
        return Holder(
            session=f"{self._name[1]}.{next(self._serial)}",
            worker=self._name[1],
            host=site.host.name,
            machine=site.host.machine,
            boot=site.host.boot,
            space=site.host.space,
            pid=process,
            start=self._name[2],
            ttl=self.ttl,
            beat=site.clock.boottime(),
            since=round(site.clock.wall(), 3),
        )


def _is_damaged(entry: Entry) -> bool:
    try:
        seen(entry)
    except BadInput:
        return True
    return False


def _describe(holder: Holder) -> dict[str, Any]:
    return {"created": iso(holder.since), "expires": iso(holder.since + holder.ttl)}
