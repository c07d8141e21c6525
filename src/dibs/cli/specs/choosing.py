"""Which folder, which specs of it, in which order and state: what the actions have in common."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import TYPE_CHECKING

from dibs.cli.exits import USAGE, CommandError
from dibs.cli.output import warn
from dibs.cli.specs import DEFAULT
from dibs.clock import SYSTEM
from dibs.errors import StorageError
from dibs.specs.catalog import Catalog
from dibs.specs.spec import Broken, Spec
from dibs.states import State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dibs.queues.specs import SpecsQueue
    from dibs.specs.graph import Graph
    from dibs.specs.listing import Listing
    from dibs.specs.view import View


def folder_of(args: Namespace) -> str:
    """The folder that was named, else the default one, here or in a folder above."""
    return args.folder or _nearest()


def url_of(args: Namespace) -> str:
    """The queue of the specs: the default queue of dibs.toml if that is one, and no folder was named."""
    from dibs.cli.place import find

    url = ""
    if args.folder is None:
        url = find(None).url
    if not url.startswith("specs:"):
        url = f"specs:{folder_of(args)}"
    if args.git:
        place, _, query = url.partition("?")
        kept = [part for part in query.split("&") if part and not part.startswith("git=")]
        url = f"{place}?{'&'.join([*kept, f'git={args.git}'])}"
    return url


def opened(args: Namespace, *, pid: int | None = None, look: bool = False) -> SpecsQueue:
    from dibs.queues import open_queue
    from dibs.queues.specs import SpecsQueue

    queue = open_queue(url_of(args), pid=pid, create=not look)
    assert isinstance(queue, SpecsQueue)
    if queue.other_way:
        said = f"this clone claims by git={queue.other_way}, and does not see what is claimed otherwise"
        warn(f"{said}; set it in dibs.toml, or remove .locks/git if that is over")
    return queue


def listing_of(args: Namespace) -> Listing:
    return Catalog(folder_of(args)).specs()


def graph_of(listing: Listing) -> Graph:
    from dibs.specs.archive import Archive
    from dibs.specs.graph import Graph

    return Graph(listing.nodes, Archive(listing.folder))


def looks_at(args: Namespace) -> Callable[[], View]:
    """What looks anew each time it is called: at the files, the locks, and with `--git` at the remote."""
    if "git=" in url_of(args).partition("?")[2]:
        return opened(args, look=True).view
    return _looks_here(url_of(args))


def _looks_here(url: str) -> Callable[[], View]:
    """At the files and locks of this clone."""
    from dibs.specs.view import View, locked, locks_of

    folder = url.partition(":")[2].partition("?")[0]
    catalog, locks = Catalog(folder), locks_of(folder)

    def view() -> View:
        held = locked(locks)  # first: who ends a spec writes its file before he lets go of it
        listing = catalog.specs()
        return View(listing, graph_of(listing), held, SYSTEM.wall())

    return view


def view_of(args: Namespace) -> View:
    """Where dibs.toml says that claims go through the remote, and that cannot be reached, what is known without it."""
    try:
        return looks_at(args)()
    except StorageError as error:
        if args.git:
            raise
        warn(f"{error}; shown is what this clone knows, without the claims of others")
        return _looks_here(url_of(args))()


def chosen(args: Namespace, view: View) -> Iterator[tuple[Spec, State]]:
    """What the filters let through: first what is ready, in the order of working on it; the rest by id."""
    states = _states_asked(args)
    listing, ready = view.listing, view.ready()
    places = ready
    if states != {State.READY}:
        places = [*ready, *sorted(set(range(len(listing))).difference(ready), key=listing.ids.__getitem__)]
    for place in places:
        state = view.state(place)
        if state is not None and (not states or state in states):
            spec = listing.at(place)
            if isinstance(spec, Spec) and _fits(args, spec):
                yield spec, state


def one(args: Namespace, listing: Listing) -> Spec | Broken:
    """The only spec that was named."""
    if len(args.words) != 1:
        raise CommandError(f"{args.action}: give one id, or a unique part of one", "dibs specs list", USAGE)
    return listing.find(args.words[0])


def _states_asked(args: Namespace) -> set[State]:
    """None at all: every state will do."""
    return {state for state, asked in ((State.READY, args.ready), (State.BLOCKED, args.blocked)) if asked}


def _fits(args: Namespace, spec: Spec) -> bool:
    """Whether the filters by field let it through."""
    return (
        (args.status is None or spec.status == args.status)
        and (args.type is None or spec.type == args.type)
        and (args.project is None or spec.project == args.project)
        and (not args.label or set(args.label) <= set(spec.labels))
    )


def _nearest() -> str:
    above = os.getcwd()
    while not os.path.isdir(os.path.join(above, DEFAULT)):
        parent = os.path.dirname(above)
        if parent == above:
            return DEFAULT
        above = parent
    return os.path.relpath(os.path.join(above, DEFAULT))
