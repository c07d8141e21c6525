"""Proving the invariants on what is stored: every key in its shard, sorted, none twice, counts as the manifest says,
no lock without a holder. What compactors do meanwhile is not taken for damage."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from dibs.errors import BadInput, FormatError, StorageError
from dibs.index.block import Block, is_sorted, unpack
from dibs.index.inbox import Inbox
from dibs.index.lanes import each
from dibs.index.layout import FILE, INBOX, LOCK, SHARDS, all_shards, file_of, inbox_of, is_shard, lock_of
from dibs.index.manifest import manifest, number_in
from dibs.index.parts import misfit, open_part
from dibs.index.salvage import is_good
from dibs.index.site import Site
from dibs.index.usv import is_deletion
from dibs.lease import Leases
from dibs.liveness import Verdict
from dibs.states import State
from dibs.stores.store import Entry


class Finding(NamedTuple):
    kind: str  # damaged, unreadable, misplaced, unsorted, count, manifest, gone, lock, hollow, stray
    path: str
    text: str
    shard: str = ""


def verify(site: Site, inbox: Inbox, leases: Leases) -> list[Finding]:
    found = [
        finding
        for findings in each(
            site.store.lanes, lambda shard: _shard(site, inbox, leases, shard), all_shards(site.root.digits)
        )
        for finding in findings
    ]
    return found + _strays(site)


def _shard(site: Site, inbox: Inbox, leases: Leases, shard: str) -> list[Finding]:
    found = []
    for what, path in ((_inbox, inbox_of(shard)), (_file, file_of(shard)), (_lock, lock_of(shard))):
        try:
            found += what(site, inbox, leases, shard)
        except StorageError as error:
            site.blame(error)
            found.append(Finding("unreadable", path, str(error), shard))
    return found


def _inbox(site: Site, inbox: Inbox, leases: Leases, shard: str) -> list[Finding]:
    found = []
    for path in inbox.listed(shard):
        entry = site.read(path)
        if entry is not None:
            found += check_file(site, path, shard, entry)
        elif path in inbox.listed(shard) and site.store.get(path) is None:
            found.append(Finding("hollow", path, "it is empty: a write that never happened", shard))
    return found


def _file(site: Site, inbox: Inbox, leases: Leases, shard: str) -> list[Finding]:
    """The shard's file and the manifest: read again once, since a compactor may be between the two."""
    path = file_of(shard)
    for again in (True, False):
        entry = site.store.get(path)
        says, holder = manifest(site, shard)
        block = _block(entry, path)
        if holder is not None or (entry is not None and block is None):
            break
        there = Counts.of(block)
        told = Counts.told(says)
        if there == told:
            break
        if not again:
            if entry is None:
                return [Finding("gone", path, f"there is no such file, though the manifest says {told}", shard)]
            found = Finding("manifest", path, f"the manifest says {told}, there are {there}", shard)
            return [found, *check_file(site, path, shard, entry)]
    return check_file(site, path, shard, entry) if entry is not None else []


class Counts(NamedTuple):
    lines: int
    deletions: int
    bytes: int

    @classmethod
    def of(cls, block: Block | None) -> "Counts":
        return cls(0, 0, 0) if block is None else cls(block.lines, block.deletions, len(block.data))

    @classmethod
    def told(cls, manifest: Mapping[str, Any]) -> "Counts":
        return cls(*(number_in(manifest, name) for name in cls._fields))

    def __str__(self) -> str:
        return f"{self.lines} lines, {self.deletions} of them deletions, in {self.bytes} bytes"


def _block(entry: Entry | None, path: str) -> Block | None:
    try:
        return None if entry is None else unpack(entry.data, path)
    except FormatError:
        return None


def check_file(site: Site, path: str, shard: str, entry: Entry | StorageError) -> list[Finding]:
    """What is wrong with one file."""
    if isinstance(entry, StorageError):
        return [Finding("unreadable", path, str(entry), shard)]
    try:
        block = unpack(entry.data, path)
    except FormatError as error:
        return [Finding("damaged", path, str(error), shard)]
    if block is None:
        damage = open_part(site, path, shard, entry.data).damage
        left = "" if damage is None else f"; {damage.left}"
        text = f"its checksum does not fit, or it was written by something else{left}"
        return [Finding("damaged", path, text, shard)]
    if not site.schema.fits(block.fields) and not site.look_again().fits(block.fields):
        return [Finding("damaged", path, misfit(site, path, block), shard)]
    return _lines(site, path, shard, block)


def _lines(site: Site, path: str, shard: str, block: Block) -> list[Finding]:
    lines = block.all()
    found = []
    wrong = sum(1 for line in lines if not is_good(line, block.fields, lambda key: site.belongs(shard, key)))
    if wrong:
        found.append(Finding("misplaced", path, f"{wrong} of its lines are no records of this shard", shard))
    if not is_sorted(lines):
        found.append(Finding("unsorted", path, "its lines are not sorted, or a key is there twice", shard))
    if (len(lines), sum(map(is_deletion, lines))) != (block.lines, block.deletions):
        found.append(Finding("count", path, f"it says {block.lines} lines, there are {len(lines)}", shard))
    return found


def _lock(site: Site, inbox: Inbox, leases: Leases, shard: str) -> list[Finding]:
    path = lock_of(shard)
    try:
        seen = leases.read(path)
    except BadInput as error:
        return [Finding("lock", path, f"it cannot be read: {error}; the next compactor replaces it", shard)]
    if seen is None or seen.record.cell.state is not State.CLAIMED:
        return []
    verdict = leases.judge(path, seen)
    if verdict is Verdict.ALIVE:
        return []
    worker = seen.record.holder.worker if seen.record.holder else "nobody"
    return [
        Finding("lock", path, f"orphaned: {worker}, who holds it, {verdict}; the next compactor takes it over", shard)
    ]


def _strays(site: Site) -> list[Finding]:
    """Files that belong to no shard, and so would never be read."""
    digits = site.root.digits
    found = []
    for path in site.store.list(SHARDS):
        name = path.removeprefix(SHARDS)
        if not is_shard(name.removesuffix(FILE).removesuffix(LOCK), digits):
            found.append(Finding("stray", path, f"it is no file of a shard with {digits} digits; remove it"))
    for folder in site.store.folders(INBOX):
        if not is_shard(folder, digits) and any(True for _ in site.store.list(f"{INBOX}{folder}/")):
            found.append(
                Finding("stray", f"{INBOX}{folder}/", "no shard has this name, so nothing there is ever merged")
            )
    return found
