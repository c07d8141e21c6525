"""list --watch: the list whenever it changes; with --json a line for each spec that went from one state to another."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import TYPE_CHECKING, NamedTuple

from dibs.cli.exits import DONE
from dibs.cli.output import emit, warn
from dibs.cli.specs.choosing import chosen, looks_at
from dibs.cli.specs.showing import list_lines, summary, where
from dibs.clock import SYSTEM, iso
from dibs.specs.graph import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.specs.view import View

PAUSE_SECONDS = 1.0


class Look(NamedTuple):
    """The specs, and the state of each (or UNREADABLE) at its place."""

    view: View
    states: list[str]


def watch(args: Namespace) -> int:
    try:
        if args.json:
            _summaries(args) if args.summary else _changes(args)
        elif sys.stdout is not None and sys.stdout.isatty():
            _live(args)
        else:
            _pages(args)
    except KeyboardInterrupt:
        pass
    return DONE


def _looks(args: Namespace) -> Iterator[Look]:
    """One at once, then one for each change. Time alone may make a spec ready, so states are asked for each time."""
    look_at = looks_at(args)
    last: Look | None = None
    while True:
        view = look_at()
        look = Look(view, [str(view.state(place) or UNREADABLE) for place in range(len(view.listing))])
        if last is None or view.listing is not last.view.listing or look.states != last.states:
            yield look
        last = look
        SYSTEM.sleep(PAUSE_SECONDS)


def _changes(args: Namespace) -> None:
    """Everything comes from nothing at first, so that no change is missed between a list and its watching."""
    states: dict[str, str] = {}
    shown: set[str] = set()
    for look in _looks(args):
        now = dict(zip(look.view.listing.ids, look.states, strict=True))
        seen = {spec.id for spec, _ in chosen(args, look.view)} | {broken.id for broken in look.view.listing.broken()}
        for id in sorted(shown | seen):  # noqa: A001
            old, new = states.get(id), now.get(id)
            if old == new:  # it may have come or gone by another field
                old, new = old if id in shown else None, new if id in seen else None
            if old != new:
                emit({"id": id, "from": old, "to": new})
        sys.stdout.flush()
        states, shown = now, seen


def _summaries(args: Namespace) -> None:
    last: dict[str, int] | None = None
    for look in _looks(args):
        counts = summary(list(chosen(args, look.view)))
        if counts != last:
            emit(counts)
            sys.stdout.flush()
        last = counts


def _pages(args: Namespace) -> None:
    for number, (lines, problems) in enumerate(_texts(args)):
        print("\n".join([*([""] if number else []), f"{iso(SYSTEM.wall())}", *lines]), flush=True)
        for problem in problems:
            warn(problem)


def _live(args: Namespace) -> None:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with Live(console=Console(highlight=False, markup=False), auto_refresh=False) as live:
        for lines, problems in _texts(args):
            live.update(Text("\n".join([*lines, *problems]), no_wrap=True), refresh=True)


def _texts(args: Namespace) -> Iterator[tuple[list[str], list[str]]]:
    """The lines of the list and of what cannot be read, when they are not what they were."""
    last = None
    for look in _looks(args):
        text = list_lines(args, list(chosen(args, look.view))), list(map(where, look.view.listing.broken()))
        if text != last:
            yield text
        last = text
