"""stats, verify, repair, schema: what state an index is in."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable

from dibs.cli.exits import DONE, FAILED
from dibs.cli.index.choosing import no_words, opened
from dibs.cli.output import clean, emit
from dibs.cli.tables import pairs, table
from dibs.config import duration_text

MOST_ROWS = 20


def _stats(args: Namespace) -> int:
    no_words(args)
    with opened(args) as index:
        found = index.stats()
    if args.json:
        emit(found.to_json())
        return DONE
    age = None if found.inbox_age is None else duration_text(round(found.inbox_age))
    rows = [
        ("records", found.records),
        ("deletions", found.deletions),
        ("bytes", found.bytes),
        ("shards", found.shards),
        ("inbox files", found.inbox),
        ("oldest", age),
        ("compacted", found.compacted_at),
        ("set aside", found.damaged or None),
    ]
    print("\n".join(pairs(rows)))
    busy = sorted((one for one in found.each if one.inbox or one.held_by), key=lambda one: -one.inbox)[:MOST_ROWS]
    if busy:
        headers = ["SHARD", "RECORDS", "BYTES", "INBOX", "COMPACTED", "HELD BY"]
        lines = [[one.shard, one.records, one.bytes, one.inbox, one.compacted_at, one.held_by] for one in busy]
        print("\n" + "\n".join(table(headers, lines, right=(1, 2, 3))))
    return DONE


def _verify(args: Namespace) -> int:
    no_words(args)
    with opened(args) as index:
        found = index.verify()
    for finding in found:
        emit(finding._asdict()) if args.json else print(f"{finding.kind}: {clean(finding.path)}: {clean(finding.text)}")
    if not found and not args.json:
        print(
            "every key is in its shard, sorted, none twice; the counts are those of the manifest; no lock is orphaned"
        )
    return FAILED if found else DONE


def _repair(args: Namespace) -> int:
    no_words(args)
    with opened(args) as index:
        done = index.repair()
        left = index.verify()
    for finding in done:
        emit(finding._asdict()) if args.json else print(f"{finding.kind}: {clean(finding.path)}: {clean(finding.text)}")
    if not done and not args.json:
        print("nothing is wrong")
    return FAILED if left else DONE


def _schema(args: Namespace) -> int:
    no_words(args)
    with opened(args) as index:
        schema = index.add_fields(*args.add) if args.add else index.schema
        root = index.site.root
    if args.json:
        emit({"version": schema.version, "fields": list(schema.shown), **root._asdict()})
    else:
        rows = [("version", schema.version), ("key", schema.key), ("time", schema.time), ("fields", list(schema.own))]
        rows += [("shards", root.shards), ("merge", root.merge), ("keys", root.keys), ("stamps", root.time)]
        print("\n".join(pairs(rows)))
    return DONE


ACTIONS: dict[str, Callable[[Namespace], int]] = {
    "stats": _stats,
    "verify": _verify,
    "repair": _repair,
    "schema": _schema,
}
