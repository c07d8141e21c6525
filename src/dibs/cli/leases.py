"""claim, renew, complete, release, fail: one lease, step by step, from a shell script.

A lease taken here belongs to no process (or to `--pid`): only its TTL ends it. The steps name the
task's id and the epoch that `claim` printed; a step from an earlier epoch is refused with exit code 4.
"""

from __future__ import annotations

from dibs.cli.arguments import add_filters, add_json, add_queue, count, duration, filters, process, wait
from dibs.cli.exits import DONE, NOTHING
from dibs.cli.output import emit, pause_words, say
from dibs.cli.place import find, nearest, open_place, opened
from dibs.cli.trusted import add_trust, check_place
from dibs.clock import iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from argparse import Namespace
    from collections.abc import Callable
    from typing import Any

    from dibs.queues.held import Lease
    from dibs.queues.queue import Queue


def configure(parser: argparse.ArgumentParser, command: str) -> None:
    parser.description, parser.epilog = _WORDS[command]
    add_queue(parser, optional=command == "claim")
    if command == "claim":
        return _configure_claim(parser)
    parser.add_argument("id", metavar="ID", help="the task's id, as claim printed it")
    parser.add_argument(
        "--epoch", metavar="N", type=count, required=True, help="the lease's epoch, as claim printed it"
    )
    if command == "complete":
        parser.add_argument("--result", metavar="JSON", help="kept with the completion; - reads it from standard input")
    elif command == "release":
        parser.add_argument(
            "--delay", metavar="DURATION", type=duration, default=0.0, help="not ready again before that"
        )
    elif command == "fail":
        parser.add_argument("--error", metavar="TEXT", default="", help="what went wrong; kept in the task's history")
        parser.add_argument("--no-retry", action="store_true", help="dead-letter it now, whatever attempts are left")
    add_json(parser)
    return None


def _configure_claim(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", metavar="N", type=count, default=1, help="take up to N tasks (default 1)")
    parser.add_argument("--ttl", metavar="DURATION", type=duration, help="how long the lease holds (default 60s)")
    parser.add_argument(
        "--wait", metavar="DURATION", type=wait, default=0.0, help="wait that long for a task, or forever (default 0)"
    )
    add_filters(parser)
    parser.add_argument(
        "--pid", metavar="PID", type=process, help="the lease ends with this process, if that comes before its TTL"
    )
    add_trust(parser)
    add_json(parser, "JSON lines on stdout; claim prints nothing else anyway")


def run(args: Namespace, command: str) -> int:
    if command == "claim":
        return _claim(args)
    with opened(args) as queue:
        lease = queue.lease(args.id, args.epoch)
        outcome = _STEPS[command](lease, args)
        record: dict[str, Any] = {"id": lease.id, "epoch": lease.epoch, "outcome": outcome}
        if command == "renew":
            record["expires_at"] = iso(lease.expires_at)
    if args.json:
        emit(record)
    else:
        until = f" until {record['expires_at']}" if command == "renew" else ""
        say(f"{outcome} {lease.id} (epoch {lease.epoch}){until}")
    return DONE


def _claim(args: Namespace) -> int:
    place = find(args.queue, args.queue_type)
    near = place if args.pid else nearest(place)
    with open_place(near, pid=args.pid) as queue:
        check_place(near.url, queue, trusted=args.trust_place)
        leases = _taken(queue, args, place.setting("ttl", args.ttl))
        _print(leases)
        if leases:
            return DONE
        say("nothing to claim" + pause_words(queue.paused, "; the queue is "))
        return NOTHING


def _taken(queue: Queue, args: Namespace, ttl: float) -> list[Lease]:
    chosen = filters(args)
    if not args.wait:
        return queue.claim_many(args.limit, ttl=ttl, **chosen)
    import gc

    gc.enable()
    first = queue.claim(ttl=ttl, wait=None if args.wait == "forever" else args.wait, **chosen)
    if first is None:
        return []
    return [first, *(queue.claim_many(args.limit - 1, ttl=ttl, **chosen) if args.limit > 1 else ())]


def _print(leases: list[Lease]) -> None:
    """One line a lease. What nobody could read goes back to the queue at once."""
    import sys

    told = 0
    try:
        for lease in leases:
            emit(_record(lease))
            sys.stdout.flush()
            told += 1
    finally:
        for lease in leases[told:]:
            lease.release()


def _record(lease: Lease) -> dict[str, Any]:
    task = lease.task
    return {
        "id": task.id,
        "epoch": lease.epoch,
        "key": task.key,
        "payload": task.payload,
        "priority": task.priority,
        "project": task.project,
        "labels": task.labels,
        "attempts": task.attempts,
        "deaths": task.deaths,
        "worker": lease.worker,
        "ttl": lease.ttl,
        "expires_at": iso(lease.expires_at),
    }


def _renew(lease: Lease, args: Namespace) -> str:
    lease.renew()
    return "renewed"


def _complete(lease: Lease, args: Namespace) -> str:
    result = None
    if args.result is not None:
        from dibs.cli.payloads import read_json

        result = read_json(args.result, "--result")
    lease.complete(result)
    return "completed"


def _release(lease: Lease, args: Namespace) -> str:
    lease.release(args.delay)
    return "released"


def _fail(lease: Lease, args: Namespace) -> str:
    lease.fail(args.error, retry=not args.no_retry)
    return "failed"


_STEPS: dict[str, Callable[[Lease, Namespace], str]] = {
    "renew": _renew,
    "complete": _complete,
    "release": _release,
    "fail": _fail,
}

_WORDS = {
    "claim": (
        "Take the right to work on ready tasks, highest priority first, and print one JSON line for each: id, epoch, "
        "key, payload, priority, project, labels, attempts, deaths, worker, ttl, expires_at. Exit code 3 when there "
        "is nothing to claim.\n"
        "The lease belongs to no process: it ends when it is completed, released or failed, or when its TTL runs out.",
        """
Examples:
  dibs claim queues/scrape
  dibs claim queues/scrape --ttl 10m --wait 30s
  dibs claim queues/scrape --limit 20 --project shop --label eu
  dibs claim queues/scrape --pid $$        # the lease ends with this shell

  task=$(dibs claim queues/scrape --ttl 5m) || exit
  id=$(echo "$task" | jq -r .id) epoch=$(echo "$task" | jq .epoch)
  if ./job; then dibs complete queues/scrape "$id" --epoch "$epoch"
  else dibs fail queues/scrape "$id" --epoch "$epoch" --error "job failed"; fi
""",
    ),
    "renew": (
        "Hold a claimed task for another TTL from now. Exit code 4 when the lease is lost: somebody else may run the "
        "task, so stop.",
        """
Examples:
  dibs renew queues/scrape "$id" --epoch "$epoch"
  dibs renew queues/scrape "$id" --epoch "$epoch" --json    # when it expires now
""",
    ),
    "complete": (
        "A claimed task is done, once and for all. Exit code 4 when the lease is lost: the work is not recorded.",
        """
Examples:
  dibs complete queues/scrape "$id" --epoch "$epoch"
  dibs complete queues/scrape "$id" --epoch "$epoch" --result '{"pages": 12}'
  ./job | dibs complete queues/scrape "$id" --epoch "$epoch" --result -
""",
    ),
    "release": (
        "Give a claimed task back to the queue untouched; it counts as no attempt.",
        """
Examples:
  dibs release queues/scrape "$id" --epoch "$epoch"
  dibs release queues/scrape "$id" --epoch "$epoch" --delay 10m
""",
    ),
    "fail": (
        "A claimed task did not work: one attempt more. It is tried again later, with growing delays, until its "
        "attempts are used up; then it stays in `failed` until somebody retries or purges it.",
        """
Examples:
  dibs fail queues/scrape "$id" --epoch "$epoch" --error "HTTP 503"
  dibs fail queues/scrape "$id" --epoch "$epoch" --error "no such page" --no-retry
""",
    ),
}
