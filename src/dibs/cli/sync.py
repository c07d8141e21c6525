"""sync: join a file queue here with a queue that others share."""

from __future__ import annotations

import signal
import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from dibs.cli.arguments import add_filters, add_json, add_queue_type, duration, filters, whole
from dibs.cli.exits import DONE, FAILED, USAGE, CommandError
from dibs.cli.output import clean, emit, warn
from dibs.cli.place import find, open_place
from dibs.clock import iso
from dibs.errors import StorageError
from dibs.redact import redact
from dibs.syncing import Report, Syncer
from dibs.syncing.syncer import BATCH, HOLD_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.queues.queue import Queue

_SHOWN = 10
_LONGEST_PAUSE = 300.0


def configure(parser: ArgumentParser, command: str) -> None:
    parser.description, parser.epilog = _DESCRIPTION, _EXAMPLES
    add = parser.add_argument
    add("queue", metavar="LOCAL", help="the queue here, in files: a name in dibs.toml or a path; created if not there")
    add("remote", metavar="REMOTE", help="the queue that is shared: a name or a URL; created if not there")
    add("--watch", action="store_true", help="go on pass after pass, whatever the network does; Ctrl-C ends it")
    add("--every", metavar="DURATION", type=duration, default=30.0, help="with --watch: time between passes (30s)")
    add("--batch", metavar="N", type=whole, default=BATCH, help=f"reserve at most N tasks at a time ({BATCH}); 0: none")
    add(
        "--hold", metavar="DURATION", type=duration, default=HOLD_SECONDS,
        help="how long a reservation outlives the network: after that others may take its tasks (6h)",
    )  # fmt: skip
    add("--give-back", action="store_true", help="return what is reserved and nobody works on, and reserve nothing")
    add_filters(parser)
    add_queue_type(parser)
    add_json(parser, "one JSON object a pass on stdout")


def run(args: Namespace, command: str) -> int:
    if args.watch and args.give_back:
        raise CommandError("--watch and --give-back do not go together", "give back without --watch", USAGE)
    shared = find(args.remote, args.queue_type)

    def opener(url: str, **options: Any) -> Queue:
        return open_place(shared, create=True, **options)

    with open_place(find(args.queue, args.queue_type), create=True) as local:

        def start() -> Syncer:
            return Syncer(
                local, shared.url, batch=args.batch, hold=args.hold, filters=filters(args), opener=opener
            )  # fmt: skip

        if args.watch:
            signal.signal(signal.SIGTERM, signal.default_int_handler)
            _watch(args, local, start)
        with start() as syncer:
            report = syncer.run(give_back=args.give_back)
            _tell(args, report, syncer)
    return FAILED if report.conflicts or report.refusals else DONE


def _watch(args: Namespace, local: Queue, start: Callable[[], Syncer]) -> None:
    """Until it is interrupted. A network that is away is said once, and its return too."""
    syncer: Syncer | None = None
    away = False
    first = True
    failing = 1.0
    try:
        while True:
            try:
                syncer = syncer or start()
                report = syncer.run()
                if away:
                    warn(f"{iso(local.clock.wall())}  {clean(redact(args.remote))} is reachable again")
                if report.changed or report.refusals or first or away:
                    _tell(args, report, syncer, stamp=f"{iso(local.clock.wall())}  ")
                first, away, failing = False, False, 1.0
                pause = max(args.every, 0.0 if report.changed else syncer.idle_seconds)
            except StorageError as error:
                if not away:
                    warn(f"{iso(local.clock.wall())}  {error}; what is here goes on, and is told later")
                away = True
                pause = failing
                failing = min(failing * 2, _LONGEST_PAUSE, max(args.every, 1.0))
            local.clock.sleep(pause * (0.75 + local.rng.random() / 2))
    finally:
        if syncer is not None:
            syncer.close()


def _tell(args: Namespace, report: Report, syncer: Syncer, stamp: str = "") -> None:
    if args.json:
        emit(report.to_json())
    else:
        print(stamp + _line(report))
    sys.stdout.flush()
    for conflict in report.conflicts[:_SHOWN]:
        warn(f"conflict: {conflict.words}")
    if report.conflicts:
        warn(f"{len(report.conflicts):,} in all; what was done here is kept in {syncer.conflicts_file}")
    for refusal in report.refusals[:_SHOWN]:
        named = f" ({refusal.key})" if refusal.key else ""
        warn(f"task {refusal.id}{named}: {refusal.reason}")
    if len(report.refusals) > _SHOWN:
        warn(f"and {len(report.refusals) - _SHOWN:,} more; --json names them")
    if report.vanished:
        warn(f"{report.vanished:,} reserved tasks are no longer here; others get them when their reservations run out")


def _line(report: Report) -> str:
    up = {
        "pushed here": report.sent,
        "pushed and done here": report.done_here,
        "completed": report.completed,
        "failed": report.failed,
        "cancelled": report.cancelled,
        "given back": report.given_back,
    }
    words = ", ".join(f"{number:,} {what}" for what, number in up.items() if number)
    lost = f"; {report.withdrawn:,} lost to others while away" if report.withdrawn else ""
    return f"up: {words or 'nothing'}; down: {report.brought:,} to do{lost}; reserved here: {report.reserved:,}"


_DESCRIPTION = """\
Join a queue in files here with one that others share (a bucket, a folder), for work that goes on without a network. \
What was pushed here goes up. Tasks to do come down by reservation: leased there for this site, renewed at every pass, \
so that no two sites take the same. What was finished here is told there, with its result or its error.
Workers here work on LOCAL as ever. A site that was away for longer than --hold may find that others took its tasks: \
what they did stands, by epoch, and what was done here is reported and kept.
It may be killed at any point; the next pass goes on. Exit code 1: something could not be reconciled, and was named.
"""

_EXAMPLES = """
Examples:
  dibs sync queues/here s3://bucket/queues/scrape
  dibs sync queues/here s3://bucket/queues/scrape --watch --batch 500 --hold 2d
  dibs work queues/here -- ./scrape.sh {payload.url}
  dibs sync queues/here s3://bucket/queues/scrape --give-back
"""
