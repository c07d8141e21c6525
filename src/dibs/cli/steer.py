"""pause, resume, cancel, retry, priority, purge: what an operator does to a queue."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable

from dibs.cli.arguments import add_json, add_queue, duration, priority_value
from dibs.cli.exits import DONE, USAGE, CommandError, code_of, lines_of
from dibs.cli.output import emit, say
from dibs.cli.place import opened
from dibs.errors import Refused, TaskNotFound
from dibs.queues.queue import Queue
from dibs.states import TERMINAL, State
from dibs.task import Task

DEFAULT_AGE = 3600.0


def configure(parser: ArgumentParser, command: str) -> None:
    parser.description, parser.epilog = _WORDS[command]
    add_queue(parser, optional=command in ("pause", "resume", "purge"))
    add = parser.add_argument
    if command == "pause":
        add("--reason", metavar="TEXT", default="", help="shown by why, stats and watch")
    many = command in ("cancel", "retry", "priority")
    if many:
        add(
            "refs",
            metavar="ID|KEY",
            nargs="*" if command == "retry" else "+",
            help="ids or keys; - reads them as lines",
        )
    if command == "priority":
        add("priority", metavar="PRIORITY", type=priority_value, help="0 to 9999, or low, normal, high or critical")
    if command == "retry":
        add("--all", action="store_true", help="every failed task")
        add("--project", metavar="NAME", help="with --all: only of this project")
        add("--label", metavar="LABEL", action="append", help="with --all: only with this label; may be repeated")
    if command == "purge":
        states = sorted(str(state) for state in TERMINAL)
        add("--state", choices=states, action="append", help="which ones (default completed); may be repeated")
        add(
            "--older-than",
            metavar="DURATION",
            type=duration,
            default=DEFAULT_AGE,
            help="only those that ended longer ago than that (default 1h)",
        )
    add_json(parser, "JSON lines on stdout, one a task" if many else "one JSON object on stdout")


def run(args: Namespace, command: str) -> int:
    with opened(args) as queue:
        return _COMMANDS[command](queue, args)


def _pause(queue: Queue, args: Namespace) -> int:
    queue.pause(args.reason)
    return _paused(queue, args, "paused; what is held goes on, `dibs resume` lets the rest run")


def _resume(queue: Queue, args: Namespace) -> int:
    queue.resume()
    return _paused(queue, args, "resumed")


def _paused(queue: Queue, args: Namespace, words: str) -> int:
    if args.json:
        emit({"paused": queue.paused})
    else:
        say(words)
    return DONE


def _cancel(queue: Queue, args: Namespace) -> int:
    return _each(queue.cancel, _refs(args.refs), args)


def _retry(queue: Queue, args: Namespace) -> int:
    if args.all == bool(args.refs):
        problem = "give ids or keys, or --all" if not args.all else "ids and --all do not go together"
        raise CommandError(f"retry: {problem}", "dibs retry --help", USAGE)
    if not args.all:
        return _each(queue.retry, _refs(args.refs), args)
    failed = queue.tasks(State.FAILED, project=args.project, labels=args.label or ())
    return _each(queue.retry, [task.id for task in failed], args)


def _priority(queue: Queue, args: Namespace) -> int:
    def step(ref: str) -> Task:
        return queue.set_priority(ref, args.priority)

    return _each(step, _refs(args.refs), args, lambda task: f"{task.priority}")


def _each(
    step: Callable[[str], Task],
    refs: Iterable[str],
    args: Namespace,
    now: Callable[[Task], str] = lambda task: task.state,
) -> int:
    """Take the step for each, and print its id and what it is `now`.
    One that is refused is told on stderr, the others go on, and the exit code is 1."""
    done = 0
    worst = DONE
    for ref in refs:
        try:
            task = step(ref)
        except (Refused, TaskNotFound) as error:
            for line in lines_of(error):
                print(line, file=sys.stderr)
            worst = code_of(error)
            continue
        done += 1
        if args.json:
            emit(task.to_json())
        else:
            print(f"{task.id}  {now(task)}")
    if not done and worst == DONE:
        say("no task was named; nothing to do")
    return worst


def _refs(given: list[str]) -> list[str]:
    if given != ["-"]:
        return given
    if sys.stdin is None:
        raise CommandError("standard input is closed; there is nothing to read")
    return [line.strip() for line in sys.stdin if line.strip()]


def _purge(queue: Queue, args: Namespace) -> int:
    purged = {state: queue.purge(state, older_than=args.older_than) for state in args.state or [State.COMPLETED.value]}
    if args.json:
        emit({"purged": sum(purged.values()), "states": purged})
    else:
        for state, number in purged.items():
            print(f"purged {number:,} {state}")
    return DONE


_COMMANDS: dict[str, Callable[[Queue, Namespace], int]] = {
    "pause": _pause,
    "resume": _resume,
    "cancel": _cancel,
    "retry": _retry,
    "priority": _priority,
    "purge": _purge,
}

_WORDS = {
    "pause": (
        "Let nothing be claimed until `dibs resume`. Tasks that are held go on and may be completed; pushes go on.",
        """
Examples:
  dibs pause queues/scrape
  dibs pause queues/scrape --reason "the site is down until noon"
""",
    ),
    "resume": (
        "Let tasks be claimed again. A queue that is not paused stays as it is.",
        """
Examples:
  dibs resume queues/scrape
""",
    ),
    "cancel": (
        "Take tasks out of the queue. One that is held is fenced off from its holder, whose next step is refused. "
        "`dibs retry` puts a cancelled task back.",
        """
Examples:
  dibs cancel queues/scrape example.com
  dibs cancel queues/scrape 019a8a2f3b4c7d5e8f00112233445566 example.org
  dibs list queues/scrape --project shop --limit 0 --json | jq -r .id | dibs cancel queues/scrape -
""",
    ),
    "retry": (
        "Put failed or cancelled tasks back into the queue, with fresh attempts; their epochs go on.",
        """
Examples:
  dibs retry queues/scrape example.com
  dibs retry queues/scrape --all
  dibs retry queues/scrape --all --project shop
""",
    ),
    "priority": (
        "Change the priority of tasks that wait: ready, scheduled or blocked. They keep it through retries and moves. "
        "One that is held or over is refused.",
        """
Examples:
  dibs priority queues/scrape example.com high
  dibs priority queues/scrape 019a8a2f3b4c7d5e8f00112233445566 example.org 150
  dibs list queues/scrape --project shop --limit 0 --json | jq -r .id | dibs priority queues/scrape - low
""",
    ),
    "purge": (
        "Delete finished tasks for good. Only completed ones unless --state says otherwise; never one that is live.",
        """
Examples:
  dibs purge queues/scrape
  dibs purge queues/scrape --older-than 7d
  dibs purge queues/scrape --state failed --state cancelled --older-than 30d
""",
    ),
}
