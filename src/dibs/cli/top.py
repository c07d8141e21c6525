"""top: queues at a glance, live, and steered by keys; one snapshot elsewhere."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import TypeVar

from dibs import config as settings
from dibs.cli.arguments import add_json, add_queue_type, duration
from dibs.cli.exits import DONE
from dibs.cli.output import emit
from dibs.cli.place import Place, find, nearest, open_place
from dibs.cli.toplook import Looker, Seen, snapshot
from dibs.clock import SYSTEM
from dibs.errors import DibsError, StorageError
from dibs.queues import split_url
from dibs.queues.queue import Queue
from dibs.queues.why import seconds
from dibs.states import State

_SHORTEST = 0.05
_TICK = 0.1  # how long a key or a new look may wait to be seen
_PATIENCE = 2  # seconds, with a daemon that is busy or away
T = TypeVar("T")


def configure(parser: ArgumentParser, command: str) -> None:
    parser.description, parser.epilog = _DESCRIPTION, _EXAMPLES
    parser.add_argument(
        "queue",
        metavar="QUEUE",
        nargs="*",
        help="names in dibs.toml, URLs, paths, or a daemon (http://HOST:8750/); else all those of dibs.toml",
    )
    parser.add_argument(
        "--interval", metavar="DURATION", type=duration, default=1.0, help="time between two looks (default 1s)"
    )
    add_queue_type(parser)
    add_json(parser, "one snapshot on stdout, after two looks: counts, rates, the oldest, who holds what")


def run(args: Namespace, command: str) -> int:
    interval = max(args.interval, _SHORTEST)
    with ExitStack() as stack:
        lookers = _lookers(args, interval, stack)
        if args.json or not (sys.stdout is not None and sys.stdout.isatty() and sys.stdin.isatty()):
            _once(lookers, interval, as_json=args.json)
        else:
            _live(lookers)
    return DONE


def _lookers(args: Namespace, interval: float, stack: ExitStack) -> list[Looker]:
    """All at once, so that one that does not answer holds up no other; it is shown with what is wrong. Raises when
    there is no other, or something else is wrong."""
    config = settings.load()
    words = [one for word in args.queue or list(config.queues) or ["."] for one in _of_daemon(word)]
    found = []
    for word in words:
        place = find(word, args.queue_type, config)
        looker = Looker(place.name or _short(place.url), place.url, partial(_open, place), interval)
        stack.callback(looker.close)
        found.append(looker)
    wrong = [error for error in _together(_opened, found) if error is not None]
    for error in wrong:
        if not isinstance(error, StorageError) or len(wrong) == len(found):
            raise error
    return found


def _open(place: Place) -> Queue:
    near = nearest(place)
    scheme, _, query = split_url(near.url)
    if scheme in ("http", "https", "unix") and "patience=" not in query:  # it looks again soon anyway
        url = f"{near.url}{'&' if query else '?'}patience={_PATIENCE}"
        near = Place(url, near.name, near.config, ours=near.ours)
    return open_place(near, look=True)


def _opened(looker: Looker) -> DibsError | None:
    try:
        looker.opened()
    except DibsError as error:
        return error
    return None


def _together(act: Callable[[Looker], T], lookers: list[Looker]) -> list[T]:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max(len(lookers), 1)) as threads:
        return list(threads.map(act, lookers))


def _of_daemon(word: str) -> list[str]:
    """All queues of a daemon, when its address alone is given."""
    scheme, _, rest = word.partition("://")
    if scheme not in ("http", "https") or rest.partition("?")[0].partition("/")[2]:
        return [word]
    from dibs.queues.remote.served import served

    return served(word)


def _short(url: str) -> str:
    """The last part of its path, or what a server knows it by."""
    _, path, query = split_url(url)
    named = [part.partition("=")[2] for part in query.split("&") if part.startswith("queue=")]
    return named[0] if named else path.rstrip("/").rpartition("/")[2] or path


def _once(lookers: list[Looker], interval: float, *, as_json: bool) -> None:
    _together(Looker.look, lookers)
    SYSTEM.sleep(interval)
    seen = _together(Looker.look, lookers)
    if as_json:
        emit(snapshot(seen, SYSTEM))
        return
    from dibs.cli.tables import table

    heads = ("QUEUE", *(state.upper() for state in State), "IN/S", "OUT/S", "OLDEST", "WORKERS")
    for line in table(heads, [_row(one) for one in seen], right=range(1, len(heads))):
        print(line)


def _row(one: Seen) -> list[str | int]:
    rates = [None if rate is None else f"{rate:.1f}" for rate in (one.pushed_rate, one.ended_rate)]
    counts = [one.count(state) for state in State]
    return [one.name, *counts, *(rate or "-" for rate in rates), _oldest(one), one.stats.workers]


def _oldest(one: Seen) -> str:
    return one.error or ("-" if one.oldest is None else seconds(one.oldest))


def _live(lookers: list[Looker]) -> None:
    from dibs.cli.topkeys import Keys
    from dibs.cli.topscreen import Screen
    from dibs.cli.topview import TopView

    screen = Screen(lookers)
    for looker in lookers:
        looker.start()
    try:
        with Keys() as keys, TopView(screen, SYSTEM) as view:
            while not screen.over:
                view.update()
                for key in keys.wait(_TICK):
                    screen.press(key)
    finally:
        for looker in lookers:
            looker.stop()


_DESCRIPTION = """\
Queues at a glance: counts by state, tasks pushed and ended a second, how long the oldest ready task has waited, and \
who works on what in the chosen queue. The arrows choose, tab goes from the queues to the tasks and back, p pauses the \
queue or lets it go on, r puts its failed tasks back, c cancels the chosen task, / filters, q leaves. What changes \
many tasks, or takes one from its worker, is asked first.
Not on a terminal it prints one snapshot.
"""

_EXAMPLES = """
Examples:
  dibs top                                 # the queues of dibs.toml, or else the default queue
  dibs top queues/scrape s3://bucket/queues/tiles
  dibs top http://queue-host:8750/         # all queues of a daemon
  dibs top --json | jq '.queues[].states'
"""
