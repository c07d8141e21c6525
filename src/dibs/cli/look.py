"""list, show, why, stats, claimed: looking changes nothing."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from typing import Any

from dibs.cli.arguments import add_filters, add_json, add_queue, filters, whole
from dibs.cli.exits import DONE
from dibs.cli.output import clean, emit, pause_words, warn
from dibs.cli.place import opened
from dibs.cli.tables import table, text_of, without_empty
from dibs.queues.queue import Queue
from dibs.queues.views import Claim
from dibs.queues.why import seconds
from dibs.redact import redact
from dibs.states import State
from dibs.task import Task

DEFAULT_LIMIT = 100


def configure(parser: ArgumentParser, command: str) -> None:
    parser.description, parser.epilog = _WORDS[command]
    add_queue(parser, optional=command in ("list", "stats", "claimed"))
    if command in ("show", "why"):
        parser.add_argument("ref", metavar="ID|KEY", help="the task's id or key")
    if command == "list":
        states = [str(state) for state in State]
        parser.add_argument("--state", choices=states, help="only tasks in this state")
        parser.add_argument(
            "--newest",
            action="store_true",
            help="completed, or with --state failed or cancelled tasks: what ended last first",
        )
        parser.add_argument(
            "--limit", metavar="N", type=whole, default=DEFAULT_LIMIT, help="at most N tasks; 0 is all (default 100)"
        )
    if command == "stats":
        parser.add_argument("--cost", action="store_true", help="requests and money too, where they are paid for")
    if command in ("list", "why"):
        add_filters(parser, priority=command == "why")
    add_json(parser, "JSON lines on stdout" if command in ("list", "claimed") else "one JSON object on stdout")


def run(args: Namespace, command: str) -> int:
    with opened(args, look=True) as queue:
        _COMMANDS[command](queue, args)
    return DONE


def _list(queue: Queue, args: Namespace) -> None:
    limit = args.limit or None
    chosen = {"limit": None if limit is None else limit + 1, **filters(args)}
    tasks = queue.newest(args.state or "completed", **chosen) if args.newest else queue.tasks(args.state, **chosen)
    shown: list[Task] = []
    more = False
    for task in tasks:
        more = limit is not None and len(shown) >= limit
        if more:
            break
        shown.append(task)
        if args.json:
            emit(task.to_json())
    if not args.json:
        headers, rows = without_empty(_LIST_HEADERS, [_list_row(task) for task in shown])
        _print(table(headers, rows, right=(2, 3)) if shown else ["no tasks"])
    if more:
        warn(f"… and more; --limit 0 lists all, --limit N the first N (now {limit})")


_LIST_HEADERS = ("ID", "STATE", "PRIO", "TRIES", "PROJECT", "LABELS", "KEY", "PAYLOAD")


def _list_row(task: Task) -> tuple[Any, ...]:
    tries = f"{task.attempts}/{task.max_attempts}"
    payload = json.dumps(task.payload, ensure_ascii=False)
    return task.id, task.state, task.priority, tries, task.project, task.labels, task.key, payload


def _show(queue: Queue, args: Namespace) -> None:
    detail = queue.detail(args.ref)
    if args.json:
        return emit(detail.to_json())
    from dibs.cli.show import lines_of

    return _print(lines_of(detail))


def _why(queue: Queue, args: Namespace) -> None:
    answer = queue.why(args.ref, **filters(args))
    if args.json:
        return emit(answer.to_json())
    return _print([clean(line) for line in answer.text.split("\n")])


def _stats(queue: Queue, args: Namespace) -> None:
    stats = queue.stats()
    cost = queue.cost() if args.cost else None
    if args.json:
        return emit(stats.to_json() | ({} if cost is None else {"cost": cost}))
    _print([clean(redact(queue.url)) + pause_words(stats.paused, "  ")])
    rows = [(state, stats.states.get(state, 0)) for state in State]
    _print(["", *table(("STATE", "TASKS"), [*rows, ("total", stats.total)], right=(1,))])
    priorities = dict(sorted(stats.priorities.items(), reverse=True))
    for name, groups in (("PRIORITY", priorities), ("PROJECT", stats.projects), ("LABEL", stats.labels)):
        if groups:
            _print(["", *_groups(name, dict(groups))])
    _print(["", f"workers  {text_of(stats.workers)}"])
    if cost is not None:
        _print(["", *_cost(cost)])
    return None


def _cost(cost: dict[str, Any]) -> list[str]:
    task, idle, mine = cost["task"], cost["idle_hour"], cost["this_command"]
    rows = [
        ("a task, push to completion", task["put"], task["get"], "", f"{1e6 * task['dollars']:.2f} a million"),
        ("a renewal of a lease", 1, 0, "", f"{1e6 * cost['renewal']['dollars']:.2f} a million"),
        ("this command", mine["put"], mine["get"], mine["list"], f"{mine['dollars']:.6f}"),
    ]
    if idle is not None:
        rows.insert(2, ("an idle worker, an hour at most", "", "", idle["list"], f"{idle['dollars']:.4f}"))
    return table(("REQUESTS", "PUT", "GET", "LIST", "DOLLARS"), rows, right=(1, 2, 3, 4))


def _groups(name: str, groups: dict[Any, dict[str, int]]) -> list[str]:
    """Counts by state for each priority, project or label; states that occur nowhere have no column."""
    used = [state for state in State if any(counts.get(state) for counts in groups.values())]
    rows = [(str(group), *(counts.get(state, 0) for state in used)) for group, counts in groups.items()]
    return table((name, *(state.upper() for state in used)), rows, right=range(1, len(used) + 1))


def _claimed(queue: Queue, args: Namespace) -> None:
    claims = queue.claimed()
    if args.json:
        for claim in claims:
            emit(claim.to_json())
        return
    _print(_claims_table(queue, claims) if claims else ["nothing is claimed"])


def _claims_table(queue: Queue, claims: list[Claim]) -> list[str]:
    now = queue.clock.wall()
    rows = [
        (
            claim.id,
            claim.epoch,
            seconds(now - claim.claimed_at),
            seconds(claim.expires_at - now) if claim.expires_at > now else "expired",
            claim.worker,
            claim.host,
            claim.pid and str(claim.pid),
            claim.key,
            *((claim.via,) if any(one.via for one in claims) else ()),
        )
        for claim in claims
    ]
    headers = ("ID", "EPOCH", "HELD FOR", "EXPIRES IN", "WORKER", "HOST", "PID", "KEY", "VIA")
    return table(headers[: len(rows[0])], rows, right=(1, 2, 3))


def _print(lines: list[str]) -> None:
    for line in lines:
        print(line)


_COMMANDS = {"list": _list, "show": _show, "why": _why, "stats": _stats, "claimed": _claimed}

_WORDS = {
    "list": (
        "Tasks, in about the order in which they would run; finished ones last. A snapshot by reading, not a "
        "transaction: a task that moves while it is read may be missing or there twice.",
        """
Examples:
  dibs list queues/scrape
  dibs list queues/scrape --state failed --newest
  dibs list queues/scrape --project shop --label eu --limit 20
  dibs list queues/scrape --limit 0 --json | jq -r .key
""",
    ),
    "show": (
        "Everything known about one task: its state, who holds it, how its leases ended, payload, result.",
        """
Examples:
  dibs show queues/scrape example.com
  dibs show queues/scrape 019a8a2f3b4c7d5e8f00112233445566 --json
""",
    ),
    "why": (
        "What keeps a task from running, in a line or two: who holds it, what it waits for, which pause; and when it "
        "will be ready, if that is known. With filters: whether a worker that uses them would take it.",
        """
Examples:
  dibs why queues/scrape example.com
  dibs why queues/scrape example.com --project shop --max-priority normal
""",
    ),
    "stats": (
        "Counts by state, priority, project and label, and the number of workers seen.",
        """
Examples:
  dibs stats queues/scrape
  dibs stats queues/scrape --json | jq .states.ready
""",
    ),
    "claimed": (
        "Who holds what now: worker, host, process, epoch, since when and until when; and through which daemon, if so.",
        """
Examples:
  dibs claimed queues/scrape
  dibs claimed queues/scrape --json | jq -r 'select(.host == "pi-3") | .id'
""",
    ),
}
