"""import, reshard: records from elsewhere."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable

from dibs.cli.exits import DONE, FAILED
from dibs.cli.index.choosing import names_in, opened, words
from dibs.cli.index.reading import told
from dibs.cli.output import emit, say, warn


def _import(args: Namespace) -> int:
    from dibs.index.importing import UNPROTECTED, import_files

    (source,) = words(args, "where the files are", most=1)
    with opened(args, create=True) as index:
        report = import_files(
            index, source, fields=names_in(args.fields), updated_at=args.updated_at, delete=args.delete_files
        )
    warn(f"note: {UNPROTECTED}")
    if report.skipped:
        what = f"{report.skipped[0]} and {len(report.skipped) - 1:,} more" if report.skipped[1:] else report.skipped[0]
        warn(f"note: {what} passed over: only files directly in {args.words[0]} whose names end in .usv are taken")
    for path, reason in report.refused:
        warn(f"dibs: {path}: {reason}")
    if args.json:
        emit({**report._asdict(), "refused": [list(one) for one in report.refused]})
    else:
        say(f"{report.records:,} records of {report.files:,} files imported; {report.deleted:,} files deleted")
    return FAILED if report.refused else DONE


def _reshard(args: Namespace) -> int:
    from dibs.index.resharding import reshard

    (target,) = words(args, "the URL of the new index", most=1)
    shards, args.shards = args.shards, None
    with opened(args) as source:
        report = reshard(source, target, shards=shards)
        code = told(source)
    if args.json:
        emit(report._asdict())
    else:
        say(
            f"{report.records:,} records and {report.deletions:,} deletions are in {report.url}, {report.shards} shards"
        )
        say("run it once more when all writers use the new index: what is there already does not change")
    return code


ACTIONS: dict[str, Callable[[Namespace], int]] = {"import": _import, "reshard": _reshard}
