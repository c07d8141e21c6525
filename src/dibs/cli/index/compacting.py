"""compact: merging what waits."""

from __future__ import annotations

import os
import signal
from argparse import Namespace
from collections.abc import Callable, Iterable
from contextlib import closing

from dibs.cli.exits import DONE, FAILED, USAGE, CommandError
from dibs.cli.index.choosing import no_words, opened
from dibs.cli.index.progress import Progress
from dibs.cli.index.reading import told
from dibs.cli.output import emit, warn
from dibs.errors import StorageError
from dibs.index.compactor import GONE, REFUSED, Done
from dibs.index.index import Index
from dibs.index.parts import Damage
from dibs.redact import redact

MOST_JOBS = 8


def _compact(args: Namespace) -> int:
    no_words(args)
    ways = [name for name in ("once", "all", "watch", "shard", "waiting") if getattr(args, name)]
    if len(ways) > 1:
        raise CommandError(f"compact: --{ways[0]} and --{ways[1]} exclude each other", "give one of them", USAGE)
    if args.jobs is not None and not args.all:
        raise CommandError("compact: --jobs goes with --all", f"dibs index compact {args.url} --all --jobs N", USAGE)
    with opened(args) as index:
        if args.waiting:
            for shard in index.waiting():
                emit({"shard": shard}) if args.json else print(shard)
            return told(index)
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # not at once: the lock is given back first
        progress = Progress(quiet=args.json)
        if args.all:
            jobs = args.jobs or _processors(index)
            with closing(index.compact_all(jobs=jobs, begun=progress.begun)) as work:
                return _run(args, work, progress)
        return _run(args, _work(args, index, progress), progress)


def _work(args: Namespace, index: Index, progress: Progress) -> Iterable[Done]:
    if args.shard:
        return iter(index.compact(args.shard))
    if args.watch:
        return index.compact_watch(args.idle, trouble=_trouble, resting=progress.pause)
    return index.compact_once()


def _trouble(error: StorageError) -> None:
    warn(f"dibs: {redact(str(error))}; trying again")


def _processors(index: Index) -> int:
    """How many processes to use. Of a bucket several shards are under way at once anyhow, and each waits for it."""
    if index.site.store.lanes > 1:
        return 1
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(found, MOST_JOBS)


def _run(args: Namespace, work: Iterable[Done], progress: Progress) -> int:
    """Print what becomes of each shard, or how many there were; what is wrong is told once."""
    said: set[str] = set()
    try:
        for done in work:
            progress.did(done)
            for line in _troubles(done):
                if line not in said:
                    warn(line)
                    said.add(line)
            if args.json:
                emit({**done._asdict(), "damages": [damage._asdict() for damage in done.damages]})
    except KeyboardInterrupt:
        if not args.watch:
            raise
    progress.ended()
    if not args.json:
        print(f"{progress.records:,} records of {progress.files:,} files merged into {progress.shards:,} shards")
    return FAILED if said else DONE


def _troubles(done: Done) -> list[str]:
    lines = [_damaged(damage) for damage in done.damages]
    if done.outcome == GONE:
        lines.append(
            f"dibs: shards/{done.shard}.usv is gone, though it had records; restore it, or accept the loss with "
            "dibs index repair; what waits for it stays in the inbox"
        )
    if done.outcome == REFUSED:
        lines.append(f"dibs: shard {done.shard} is not compacted; what waits for it stays in the inbox")
    return lines


def _damaged(damage: Damage) -> str:
    if damage.why:
        return f"dibs: {damage.path} cannot be used: {redact(damage.why)}"
    kept = damage.aside or "nothing, it was empty"
    return f"dibs: {damage.path} is damaged: {damage.left}; the file is kept as {kept}"


ACTIONS: dict[str, Callable[[Namespace], int]] = {"compact": _compact}
