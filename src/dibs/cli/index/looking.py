"""stats, verify, repair, schema: what state an index is in."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable

from dibs.cli.exits import DONE, FAILED, USAGE, CommandError
from dibs.cli.index.choosing import names_in, no_words, opened
from dibs.cli.index.reading import told
from dibs.cli.output import clean, emit
from dibs.cli.tables import pairs, table
from dibs.config import duration_text
from dibs.index.statistics import ShardStats

MOST_ROWS = 256


def _stats(args: Namespace) -> int:
    no_words(args)
    with opened(args) as index:
        found = index.stats()
        code = told(index)
    if args.json:
        emit(found.to_json())
        return code
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
    shown = sorted(found.each, key=lambda one: (-one.inbox, one.shard))[:MOST_ROWS]
    if shown:
        headers = ["SHARD", "RECORDS", "BYTES", "INBOX", "OLDEST", "COMPACTED", "HELD BY"]
        print("\n" + "\n".join(table(headers, [_row(one) for one in shown], right=(1, 2, 3, 4))))
    if len(found.each) > len(shown):
        print(f"and {len(found.each) - len(shown):,} more shards; --json has them all")
    return code


def _row(one: ShardStats) -> list[object]:
    age = None if one.inbox_age is None else duration_text(round(one.inbox_age))
    return [one.shard, one.records, one.bytes, one.inbox, age, one.compacted_at, one.held_by]


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
    for name in args.add or ():
        if "," in name:
            each = " ".join(f"--add {part}" for part in names_in(name))
            raise CommandError(f"schema: --add {name!r} is no field name", f"one --add for each field: {each}", USAGE)
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
