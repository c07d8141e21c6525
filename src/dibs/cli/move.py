"""move, copy: whole tasks from one queue into another."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from dibs.cli.arguments import add_json, add_queue_type
from dibs.cli.exits import DONE, FAILED
from dibs.cli.moveview import view_of
from dibs.cli.output import clean, emit, warn
from dibs.cli.place import Place, find, open_place
from dibs.errors import FormatError
from dibs.moving import Report, copy, move
from dibs.queues.queue import Queue
from dibs.redact import redact

_SHOWN = 10


def configure(parser: ArgumentParser, command: str) -> None:
    parser.description, parser.epilog = _WORDS[command]
    add = parser.add_argument
    add("queue", metavar="SRC", help="the queue they are in: a name in dibs.toml, a URL or a path")
    add("target", metavar="DST", help="the queue they are to be in; created if it is not there")
    add("--follow", action="store_true", help="wait for claimed tasks too, until none is left in SRC")
    add("--dry-run", action="store_true", help="only say what would be done; changes nothing")
    add_queue_type(parser)
    add_json(parser)


def run(args: Namespace, command: str) -> int:
    act = copy if command == "copy" else move
    place = find(args.queue, args.queue_type)
    with open_place(place, look=args.dry_run) as source:
        goal = find(args.target, args.queue_type)
        target = _target(goal, dry_run=args.dry_run)
        try:
            with view_of(source, command, quiet=args.json or args.dry_run) as view:
                report = act(source, target, follow=args.follow, dry_run=args.dry_run, tell=view.update)
        finally:
            if target is not None:
                target.close()
    if target is None:
        report.target = redact(goal.url)
    if args.json:
        emit(report.to_json())
    else:
        _print(report, command, args)
    return DONE if report.verified and not report.refused else FAILED


def _target(place: Place, *, dry_run: bool) -> Queue | None:
    """None for one that a dry run would have to create."""
    if not dry_run:
        return open_place(place, create=True)
    try:
        return open_place(place, look=True)
    except FormatError as error:
        if str(error).startswith(("no queue ", "no dibs tables ")):
            return None
        raise


def _print(report: Report, command: str, args: Namespace) -> None:
    done = f"would {command}" if report.dry_run else {"move": "moved", "copy": "copied"}[command]
    known = f" ({report.there:,} of them there already)" if report.there else ""
    print(f"{done} {_tasks(report.total)}{_by_state(report.sent)}{known}")
    if report.along:
        print(f"with them {report.along:,} finished, which others wait for")
    if report.returned:
        print(f"first finished a move the other way that was broken off: {_tasks(report.returned)}")
    if not report.dry_run:
        print(f"found in {clean(redact(args.target))}: {report.confirmed:,} of {report.total + report.along:,}")
    if command == "move" and report.left and not report.dry_run:
        stay = ", ".join(f"{number:,} {state}" for state, number in report.left.items())
        print(f"left in {clean(redact(args.queue))}: {stay}")
    _warn(report, command, args)


def _warn(report: Report, command: str, args: Namespace) -> None:
    if report.held_back:
        warn(f"{_tasks(report.held_back)} held back: they wait for others that stay for now")
    if report.left.get("claimed") and not (args.follow or report.dry_run):
        warn("claimed tasks stay until their leases end; --follow waits for them")
    for refusal in report.refusals[:_SHOWN]:
        named = f" ({refusal.key})" if refusal.key else ""
        warn(f"task {refusal.id}{named}: {refusal.reason}")
    if report.refused > _SHOWN:
        warn(f"and {report.refused - _SHOWN:,} more; --json names the first hundred")
    if report.on_the_way:
        warn(f"{_tasks(report.on_the_way)} on the way; run the same command again to finish")
    for address, number in report.elsewhere.items():
        source = clean(redact(args.queue))
        warn(f"{_tasks(number)} on the way from {source} to {address}; `dibs move` there finishes it")


def _tasks(number: int) -> str:
    return f"{number:,} {'task' if number == 1 else 'tasks'}"


def _by_state(sent: dict[str, int]) -> str:
    return ": " + ", ".join(f"{number:,} {state}" for state, number in sent.items()) if sent else ""


_WORDS = {
    "move": (
        """\
Move every ready, scheduled, blocked and failed task from SRC to DST, between any two backends: with id, payload, \
key, priority, labels, dependencies, due time, epoch, attempts, deaths and history. Claimed tasks stay until their \
leases end; --follow waits for that. Workers may run on both queues meanwhile.
It may be killed at any point: the same command goes on where it stopped, and no task is lost, doubled, or ready in \
both. A task whose key a live task in DST has stays in SRC and is named.
""",
        """
Examples:
  dibs move queues/scrape queues/new --dry-run
  dibs move queues/scrape queues/new
  dibs move queues/scrape queues/new --follow --json
""",
    ),
    "copy": (
        """\
Copy every ready, scheduled, blocked and failed task from SRC to DST, as `dibs move` does, without taking anything out \
of SRC. The copies have the same ids: run it again to add what is new. A task that was copied can run in both queues.
""",
        """
Examples:
  dibs copy queues/scrape queues/trial
  dibs copy queues/scrape queues/trial --dry-run --json
""",
    ),
}
