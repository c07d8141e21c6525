"""push: one task from the argument or standard input, or many from a file of lines."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from dibs.cli import payloads
from dibs.cli.arguments import add_json, add_queue, count, duration, moment, priority_value
from dibs.cli.exits import DONE, USAGE, CommandError
from dibs.cli.output import emit, say
from dibs.cli.place import Place, find, nearest, open_place
from dibs.task import NewTask

_SETTINGS = ("max_attempts", "max_deaths", "max_runtime", "backoff", "max_backoff")


def configure(parser: ArgumentParser, command: str) -> None:
    parser.description, parser.epilog = _DESCRIPTION, _EXAMPLES
    add_queue(parser)
    _add_sources(parser)
    add = parser.add_argument
    add("--key", metavar="KEY", help="your own name for the task; pushing a key twice is one task")
    add(
        "--unique",
        choices=("live", "completed"),
        default="live",
        help="a key is unique among live tasks (default), or among completed ones too",
    )
    add(
        "--priority",
        metavar="N",
        type=priority_value,
        default=50,
        help="low, normal (default), high, critical, or 0 to 9999; higher runs first",
    )
    add("--project", metavar="NAME", help="a name to filter and count by")
    add("--label", metavar="LABEL", action="append", default=[], help="likewise; may be repeated")
    add("--delay", metavar="DURATION", type=duration, default=0.0, help="not ready before that time has passed")
    add("--at", metavar="TIME", type=moment, help="not ready before this time, in ISO 8601")
    add(
        "--after",
        metavar="ID|KEY",
        action="append",
        default=[],
        help="not ready before this task is completed; may be repeated",
    )
    _add_limits(parser)
    add_json(parser, "one JSON object on stdout: the task, or with --jsonl the counts")


def _add_sources(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "payload",
        metavar="PAYLOAD",
        nargs="?",
        help="JSON; - reads it from standard input; null if only --key is given",
    )
    add("--text", action="store_true", help="PAYLOAD, or each line of --jsonl, is plain text and not JSON")
    add("--jsonl", metavar="FILE", help="push many: each line of FILE (- is standard input) is a payload")
    add("--records", action="store_true", help="with --jsonl: each line is an object with payload, key, priority, …")


def _add_limits(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--max-attempts", metavar="N", type=count, help="failed attempts until it is dead-lettered (default 3)")
    add("--max-deaths", metavar="N", type=count, help="workers it may kill until it is dead-lettered (default 5)")
    add(
        "--max-runtime",
        metavar="DURATION",
        type=duration,
        help="the longest a lease may be held, however it is renewed",
    )
    add(
        "--backoff", metavar="DURATION", type=duration, help="wait before the first retry; then it doubles (default 1s)"
    )
    add("--max-backoff", metavar="DURATION", type=duration, help="the longest wait before a retry (default 1h)")


def run(args: Namespace, command: str) -> int:
    _check(args)
    place = nearest(find(args.queue, args.queue_type))
    fields = _fields(args, place)
    if args.jsonl is not None:
        from dibs.cli.lines import push_lines

        with open_place(place, create=True) as queue:
            return push_lines(queue, args, fields)
    if args.payload is not None:
        read = payloads.read_text(args.payload) if args.text else payloads.read_json(args.payload, "PAYLOAD")
        fields["payload"] = read
    with open_place(place, create=True) as queue:
        task = queue.push_many([NewTask(**fields)])[0]
    if args.json:
        emit({**task.to_json(), "duplicate": task.duplicate})
    else:
        print(task.id)
        if task.duplicate:
            say(f"key {task.key} is taken by this task, which is {task.state}; nothing was added")
    return DONE


def _check(args: Namespace) -> None:
    problem = ""
    if args.jsonl is not None:
        if args.payload is not None:
            problem = "PAYLOAD and --jsonl do not go together"
        elif args.key is not None:
            problem = "--key and --jsonl do not go together; give each line its key with --records"
        elif args.text and args.records:
            problem = "--text and --records do not go together"
    elif args.records:
        problem = "--records needs --jsonl"
    elif args.payload is None and args.key is None:
        problem = "there is nothing to push; give a PAYLOAD, - for standard input, --jsonl FILE, or at least --key"
    if args.delay and args.at is not None:
        problem = "--delay and --at do not go together"
    if problem:
        raise CommandError(f"push: {problem}", "dibs push --help", USAGE)


def _fields(args: Namespace, place: Place) -> dict[str, Any]:
    fields = {
        "key": args.key,
        "unique": args.unique,
        "priority": args.priority,
        "project": args.project,
        "labels": args.label,
        "delay": args.delay,
        "at": args.at,
        "after": args.after,
    }
    return fields | {name: place.setting(name, getattr(args, name)) for name in _SETTINGS}


_DESCRIPTION = """\
Add a task and print its id. When this returns, the task is on disk and survives a power cut. The queue is \
created if it is not there.
With --jsonl, add many: each line is a payload, or with --records an object with payload and any of key, unique, \
priority, project, labels, delay, at, after, max_attempts, max_deaths, max_runtime, backoff, max_backoff. The \
options given hold for every line that does not say otherwise.
"""

_EXAMPLES = """
Examples:
  dibs push queues/scrape '{"url": "https://example.com"}'
  dibs push queues/scrape '{"url": "https://example.com"}' --key example.com --priority high
  dibs push queues/scrape --text https://example.com --delay 10m --label eu
  echo '{"n": 1}' | dibs push queues/scrape -
  dibs push queues/scrape --jsonl tasks.jsonl
  dibs push queues/scrape --jsonl urls.txt --text --project shop
  echo '{"payload": {"n": 1}, "key": "one", "priority": "high"}' | dibs push . --jsonl - --records
  dibs push queues/report '{"day": "monday"}' --after example.com --after example.org
"""
