"""watch: counts and leases, live on a terminal, one plain line a look elsewhere."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from dibs.cli.arguments import add_json, add_queue, count, duration
from dibs.cli.exits import DONE
from dibs.cli.output import emit, pause_words
from dibs.cli.place import opened
from dibs.clock import iso
from dibs.queues.queue import Queue
from dibs.queues.views import Stats
from dibs.states import LIVE, State

if TYPE_CHECKING:
    from collections.abc import Iterator

_SHORTEST = 0.05


def configure(parser: ArgumentParser, command: str) -> None:
    parser.description, parser.epilog = _DESCRIPTION, _EXAMPLES
    add_queue(parser, optional=True)
    add = parser.add_argument
    add("--interval", metavar="DURATION", type=duration, default=1.0, help="time between two looks (default 1s)")
    add("--count", metavar="N", type=count, help="leave after N looks")
    add("--until-empty", action="store_true", help="leave when no task is ready, scheduled, blocked or claimed")
    add_json(parser, "JSON lines on stdout, one a look: at, rate, and what `stats --json` prints")


def run(args: Namespace, command: str) -> int:
    with opened(args, look=True) as queue:
        if args.json:
            for look in _looks(queue, args):
                emit({"at": iso(look.at), "rate": round(look.rate, 3), **look.stats.to_json()})
                sys.stdout.flush()
        elif sys.stdout is not None and sys.stdout.isatty():
            from dibs.cli.liveview import LiveView

            with LiveView(queue) as view:
                for look in _looks(queue, args):
                    view.update(look)
        else:
            for look in _looks(queue, args):
                print(f"{iso(look.at)}  {_line(look)}", flush=True)
    return DONE


class Look:
    """What one look saw; `rate` is tasks completed a second since the one before."""

    def __init__(self, at: float, stats: Stats, rate: float) -> None:
        self.at = at
        self.stats = stats
        self.rate = rate

    @property
    def live(self) -> int:
        return sum(self.stats.states.get(state, 0) for state in LIVE)


def _looks(queue: Queue, args: Namespace) -> Iterator[Look]:
    last: tuple[float, int] | None = None
    number = 0
    while True:
        stats = queue.stats()
        now = queue.clock.boottime()
        done = stats.states.get(State.COMPLETED, 0)
        rate = max(done - last[1], 0) / max(now - last[0], _SHORTEST) if last else 0.0
        last = (now, done)
        look = Look(queue.clock.wall(), stats, rate)
        yield look
        number += 1
        if number == args.count or (args.until_empty and not look.live):
            return
        queue.clock.sleep(max(args.interval, _SHORTEST))


def _line(look: Look) -> str:
    counts = [f"{state} {number:,}" for state in State if (number := look.stats.states.get(state, 0))]
    words: list[Any] = [*(counts or ["empty"]), f"{look.rate:,.1f}/s"]
    if look.stats.paused is not None:
        words.append(pause_words(look.stats.paused))
    return "  ".join(words)


_DESCRIPTION = """\
Look at the queue again and again: counts by state, tasks completed a second, how long the rest will take at this \
rate, who holds what. On a terminal it is a live view; else one line a look. Ctrl-C ends it.
"""

_EXAMPLES = """
Examples:
  dibs watch queues/scrape
  dibs watch queues/scrape --interval 5s --until-empty
  dibs watch queues/scrape --json --count 1 | jq .states
"""
