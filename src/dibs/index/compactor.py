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
from dibs.errors import StorageError
from dibs.index.block import Block
from dibs.index.inbox import Inbox
from dibs.index.layout import file_of, lock_of
from dibs.index.merge import Merged, merged
from dibs.index.parts import Damage, open_part, set_aside, updates
from dibs.index.site import Site
from dibs.lease import Held, Leases, Lost, Record
from dibs.liveness import Holder, Watch
from dibs.stores import settle
from dibs.stores.store import Changed, Exists, Unsure

LOCK_SECONDS = 300.0
MOST_FILES = 1000
MOST_BYTES = 32 << 20

MERGED = "merged"  # the inbox files that were read are in the shard, and gone
NOTHING = "nothing"  # there was nothing to do
HELD = "held"  # somebody else compacts it
CHANGED = "changed"  # somebody else wrote the shard meanwhile; it is as they left it
UNSURE = "unsure"  # the answer to the write was lost: it is done, or will be done again
GONE = "gone"  # the manifest says that the shard has records, but there is no file


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
        self._ttl = ttl
        self._inbox = inbox
        self._leases = Leases(
            site.locks, clock=site.clock, rng=site.rng, watch=Watch(site.host, site.clock), describe=_describe
        )
        self._serial = count()
        self._name = (0, "")

    @property
    def leases(self) -> Leases:
        return self._leases

    def compact(self, shard: str, names: Sequence[str] | None = None, *, regain: bool = False) -> Done:
        """Merge what waits. `names`: the inbox files, where they are known. `regain`: also when the shard's file is
        gone though it should be there, or nothing waits."""
        names = self._inbox.names(shard) if names is None else names
        if not names and not regain:
            return Done(shard, NOTHING)
        held = self._leases.acquire(lock_of(shard), self._holder())
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
        return done

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
        entry = site.store.get(path)
        if entry is None and held.seen.record.data.get("lines") and not regain:
            return Done(shard, GONE)
        if not files and not regain:
            return Done(shard, NOTHING)
        parts = {name: open_part(site, name, shard, data) for name, data in files.items()}
        damages = [set_aside(site, part.damage, files[name]) for name, part in parts.items() if part.damage is not None]
        stored: Block | None = None
        if entry is not None:
            stored, damage = open_part(site, path, shard, entry.data)
            if damage is not None:
                damages.append(set_aside(site, damage, entry.data))
        new = merged(stored, updates(site, parts.values()), site.schema.fields, site.rule, site.nonce())
        now = new or Merged(b"", 0, 0)
        if new is None and stored is not None:
            now = Merged(stored.data, stored.lines, stored.deletions)
        changed = new is not None or (entry is not None and now.data is not entry.data)  # else it was not salvaged
        return Job(
            list(files),
            sum(part.block.lines for part in parts.values()),
            entry.version if entry is not None else None,
            now.data if changed else None,
            now.lines,
            now.deletions,
            len(now.data),
            tuple(damages),
        )

    def _read(self, shard: str, names: Sequence[str]) -> dict[str, bytes]:
        """Of the oldest files as many as fit: the rest waits for the next time."""
        files: dict[str, bytes] = {}
        size = 0
        step = max(1, self._site.store.lanes * 4)
        names = names[:MOST_FILES]
        for first in range(0, len(names), step):
            found = self._inbox.read(shard, names[first : first + step])
            files |= found
            size += sum(map(len, found.values()))
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

    def _holder(self) -> Holder:
        site = self._site
        process = site.process()
        if self._name[0] != process:
            self._name = (process, f"{site.host.name}-{process}-{site.rng.getrandbits(32):08x}")
        return Holder(
            session=f"{self._name[1]}.{next(self._serial)}",
            worker=self._name[1],
            host=site.host.name,
            machine=site.host.machine,
            boot=site.host.boot,
            space=site.host.space,
            pid=process,
            start=site.host.started(process),
            ttl=self._ttl,
            beat=site.clock.boottime(),
            since=round(site.clock.wall(), 3),
        )


def _describe(holder: Holder) -> dict[str, Any]:
    return {"created": iso(holder.since), "expires": iso(holder.since + holder.ttl)}
