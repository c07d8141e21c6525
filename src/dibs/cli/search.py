"""search: tasks and specs by their words and fields."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from typing import Any

from dibs.cli.arguments import add_json, add_queue_type, count
from dibs.cli.exits import DONE
from dibs.cli.output import emit, say, warn
from dibs.cli.place import find, nearest, open_place
from dibs.cli.tables import table, without_empty
from dibs.queues.queue import Queue

SORTS = ("relevance", "priority", "newest", "oldest")


def configure(parser: ArgumentParser, command: str) -> None:
    parser.description, parser.epilog = _DESCRIPTION, _EXAMPLES
    parser.add_argument("query", metavar="QUERY", help="words and field:value; all must be met")
    parser.add_argument(
        "queue", metavar="QUEUE", nargs="?", help="a name in dibs.toml, a URL or a path; else the default"
    )
    parser.add_argument(
        "--sort", choices=SORTS, default="relevance", help="relevance (default), priority, newest, oldest"
    )
    parser.add_argument("--limit", metavar="N", type=count, default=50, help="at most N tasks, up to 1000 (default 50)")
    add_queue_type(parser)
    add_json(parser, "JSON lines on stdout")


def run(args: Namespace, command: str) -> int:
    with open_place(nearest(find(args.queue, args.queue_type)), look=True) as queue:
        found = _found(queue, args)
    for hit in found["tasks"] if args.json else ():
        emit({**hit["task"], "score": hit["score"]})
    if not args.json:
        rows = [_row(hit["task"]) for hit in found["tasks"]]
        headers, rows = without_empty(_HEADERS, rows)
        for line in table(headers, rows, right=(2,)) if rows else ["nothing found"]:
            print(line)
    if found["found"] > len(found["tasks"]):
        warn(f"… and {found['found'] - len(found['tasks']):,} more; --limit N shows the first N (now {args.limit})")
    return DONE


def _found(queue: Queue, args: Namespace) -> Any:
    from dibs.queues.remote import RemoteQueue
    from dibs.serve.search.asking import asked

    wanted = asked(args.query, args.sort, args.limit)
    if isinstance(queue, RemoteQueue):
        return queue.search(*wanted)
    from dibs.serve.cache.looking import looking
    from dibs.serve.search.keeping import Keeping
    from dibs.serve.search.shelf import Shelf, place_of
    from dibs.serve.search.sources import source_of

    shelf = Shelf(place_of(queue.address), queue.address)
    if not shelf.held:
        say("dibs: the index is in use (a daemon?), so one is made for this search; asking the daemon is quicker")
    keeping = Keeping(queue, source_of(queue, looking(queue), 0.0), shelf)
    try:
        return keeping.find(wanted)
    finally:
        keeping.close()


_HEADERS = ("ID", "STATE", "PRIO", "PROJECT", "LABELS", "KEY", "PAYLOAD")


def _row(task: dict[str, Any]) -> list[Any]:
    key = None if task["key"] == task["id"] else task["key"]
    payload = json.dumps(task["payload"], ensure_ascii=False)
    return [task["id"], task["state"], task["priority"], task["project"], tuple(task["labels"]), key, payload]


_DESCRIPTION = """\
Tasks and specs by their words and fields: what stands in the payload (or in the spec), and id, key, title, text, \
project, label, state, status, ready, type, priority. All that is asked must be met; AND, OR, NOT, brackets, "phrases" \
and ranges (priority:>=100, priority:[50 TO 100]) are understood. Words are whole words; fields other than title and \
text are compared as they are.
What is found is as it is now: the index is brought in step first. It is kept in the user's cache folder and can be \
removed at any time. Through http: or unix: the daemon is asked, which keeps one ready.
"""

_EXAMPLES = """
Examples:
  dibs search "auth label:backend status:pending" --sort priority
  dibs search "status:pending AND ready:true" specs:.dibs/specs --sort priority
  dibs search '"connection refused" state:failed' queues/scrape --json
  dibs search "priority:>=high NOT label:docs" http://localhost:8750/specs
"""
