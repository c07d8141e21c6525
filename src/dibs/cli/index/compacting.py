"""compact: merging what waits, with a line of progress at a terminal."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable

from dibs.cli.exits import DONE, FAILED, USAGE, CommandError
from dibs.cli.index.choosing import no_words, opened
from dibs.cli.output import emit, warn
from dibs.index.compactor import GONE, MERGED, Done
from dibs.index.index import Index
from dibs.redact import redact


def _compact(args: Namespace) -> int:
    no_words(args)
    ways = [name for name in ("once", "all", "watch", "shard", "waiting") if getattr(args, name)]
    if len(ways) > 1:
        raise CommandError(f"compact: --{ways[0]} and --{ways[1]} exclude each other", "give one of them", USAGE)
    with opened(args) as index:
        if args.waiting:
            for shard in index.waiting():
                emit({"shard": shard}) if args.json else print(shard)
            return DONE
        return _run(args, _work(args, index))


def _work(args: Namespace, index: Index) -> Iterable[Done]:
    if args.shard:
        return iter(index.compact(args.shard))
    if args.watch:
        return index.compact_watch(args.idle, trouble=lambda error: warn(f"dibs: {redact(str(error))}; trying again"))
    return index.compact_all() if args.all else index.compact_once()


def _run(args: Namespace, work: Iterable[Done]) -> int:
    """Print what becomes of each shard, or how many there were; shards with damage are named."""
    outcomes: Counter[str] = Counter()
    files = records = 0
    bad = False
    live = sys.stderr is not None and sys.stderr.isatty() and not args.json
    try:
        for done in work:
            outcomes[done.outcome] += 1
            files, records = files + done.files, records + done.records
            bad |= bool(done.damages) or done.outcome == GONE
            _report(done)
            if args.json:
                emit({**done._asdict(), "damages": [damage._asdict() for damage in done.damages]})
            elif live:
                print(f"\r{outcomes[MERGED]:,} shards, {records:,} records merged", end="", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        if not args.watch:
            raise
    if live:
        print(file=sys.stderr)
    if not args.json:
        print(f"{records:,} records of {files:,} files merged into {outcomes[MERGED]:,} shards")
    return FAILED if bad else DONE


def _report(done: Done) -> None:
    for damage in done.damages:
        kept = f"{damage.kept} good records kept, {damage.bad} bad"
        warn(f"dibs: {damage.path} is damaged: {kept}; the file is kept as {damage.aside or 'nothing, it was empty'}")
    if done.outcome == GONE:
        warn(
            f"dibs: shards/{done.shard}.usv is gone, though it had records; restore it, or accept the loss with "
            "dibs index repair; what waits for it stays in the inbox"
        )


ACTIONS: dict[str, Callable[[Namespace], int]] = {"compact": _compact}
