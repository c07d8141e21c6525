"""Setting right what `verify` finds. A file is kept aside, as it was, before anything takes its place; records that
stand in the wrong shard go to the inbox of their own."""

from dibs.index.block import pack, sorted_lines, unpack
from dibs.index.checks import Finding, verify
from dibs.index.compactor import HELD, MERGED, REFUSED, Compactor, Done
from dibs.index.inbox import Inbox
from dibs.index.layout import INBOX
from dibs.index.merge import latest
from dibs.index.parts import Damage, set_aside
from dibs.index.salvage import is_good, salvage
from dibs.index.site import Site
from dibs.index.usv import UNIT, line_of, values_of, widened
from dibs.stores import settle
from dibs.stores.store import Changed

_LINES = ("misplaced", "unsorted", "count")  # the file was written whole, but not by a sound index


def repair(site: Site, inbox: Inbox, compactor: Compactor) -> list[Finding]:
    """What was done, or why it was not."""
    found = verify(site, inbox, compactor.leases)
    done = []
    for path, findings in _by_path(found).items():
        first = findings[0]
        if first.kind == "stray":
            done.append(first)
        elif any(finding.kind in _LINES for finding in findings):
            done.append(_sorted_out(site, inbox, first))
        elif first.kind == "hollow" and site.store.get(path) is None:
            site.store.discard(path)
            done.append(first._replace(text="removed: it was empty"))
    for shard in dict.fromkeys(finding.shard for finding in found if finding.shard):
        done.append(_told(shard, compactor.compact(shard, regain=True)))
    return done


def _told(shard: str, done: Done) -> Finding:
    whole = done.outcome == MERGED and not any(damage.why for damage in done.damages)
    kind = "repaired" if whole else "held" if done.outcome == HELD else "left"
    words = {
        MERGED: f"{done.lines - done.deletions} records",
        HELD: "somebody holds its lock; try again later",
        REFUSED: "it is as it was",
    }
    parts = [f"{done.outcome}: {words.get(done.outcome, 'somebody else wrote it meanwhile; verify again')}"]
    for damage in done.damages:
        kept = f"kept as {damage.aside}" if damage.aside else "there is nothing to keep"
        parts.append(damage.why or f"{damage.path}: {damage.left}; {kept}")
    return Finding(kind, shard, "; ".join(parts), shard)


def _by_path(found: list[Finding]) -> dict[str, list[Finding]]:
    paths: dict[str, list[Finding]] = {}
    for finding in found:
        paths.setdefault(finding.path, []).append(finding)
    return paths


def _sorted_out(site: Site, inbox: Inbox, finding: Finding) -> Finding:
    """Of a file with lines that do not belong there: each line where it belongs."""
    path, shard = finding.path, finding.shard
    entry = site.store.get(path)
    block = unpack(entry.data, path) if entry is not None else None
    if entry is None or block is None:
        return finding._replace(text="changed meanwhile; verify again")
    fields = site.schema.fields
    width = len(fields)
    mine = salvage(entry.data, block.fields, lambda key: site.belongs(shard, key)).lines
    known = set(mine)
    strange = [line for line in block.all() if line not in known]
    others = [line for line in strange if is_good(line, block.fields, lambda key: bool(key.strip()))]
    damage = set_aside(site, Damage(path, len(known) + len(others), len(strange) - len(others)), entry.data)
    inbox.write(fields, [_brought_home(site, widened(line, width)) for line in others])
    if path.startswith(INBOX):
        inbox.write(fields, [(shard, widened(line, width)) for line in mine])
        inbox.merged(shard, [path])
    else:
        lines = sorted_lines(latest([widened(line, len(block.fields)) for line in mine], site.rule, {}))
        try:
            settle.replace(site.store, path, pack(block.fields, lines, site.nonce()), entry.version)
        except Changed:
            return finding._replace(text="changed meanwhile; verify again")
    return finding._replace(text=f"each record is where it belongs; the file is kept as {damage.aside}")


def _brought_home(site: Site, line: bytes) -> tuple[str, bytes]:
    """(its shard, the line with its key as it should be written)."""
    key = site.normalised(values_of(line)[0] or "")
    return site.shard_of(key), line_of([key]) + UNIT + line.partition(UNIT)[2]
