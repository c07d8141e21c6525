"""What is due lies in `scheduled/` until a claimer meets it. A look shows it as ready, and leaves it where it is."""

from collections.abc import Callable, Iterator
from functools import cache
from heapq import merge

from dibs.facets import EVERYTHING, Filter
from dibs.queues.files.finder import Finder, Found
from dibs.queues.files.layout import is_hour, is_minute, slot
from dibs.states import State

Now = Callable[[], float]  # the store's time; asked only where something is scheduled


def once(now: Now) -> Now:
    """One look has one moment, so that nothing becomes due in the middle of it and is shown twice, or not at all."""
    return cache(now)


def seen(found: Found, now: Now) -> Found:
    """It, or if it is due as it will be once it is promoted."""
    if found.state is not State.SCHEDULED or not found.name.is_due(now()):
        return found
    return Found(State.READY, found.path, found.name._replace(extra=""))


def find_seen(finder: Finder, state: State, wanted: Filter, now: Now) -> Iterator[Found]:
    """As `Finder.find`, with what is due among what is ready."""
    if state is State.SCHEDULED:
        return (found for found in finder.find(state, wanted) if not found.name.is_due(now()))
    if state is State.READY and (due := list(_due(finder, wanted, now))):
        due.sort(key=lambda found: (-found.name.priority, found.name.id))
        return merge(finder.find(state, wanted), due, key=lambda found: -found.name.priority)
    return finder.find(state, wanted)


def due_folders(finder: Finder, now: Now) -> Iterator[str]:
    """Those of `scheduled/` in which something may be due."""
    root = finder.layout.folder("scheduled")
    for hour in finder.inside(root, is_hour):
        hour_now, minute_now = slot(now())
        if hour > f"{root}/{hour_now}":
            return
        for minute in finder.inside(hour, is_minute):
            if minute > f"{root}/{hour_now}/{minute_now}":
                return
            yield minute


def next_due(finder: Finder, now: Now) -> float:
    """When the next of those that are not due will be. All folders in which it could be are looked at for that."""
    for folder in finder.folders(State.SCHEDULED):
        names = [found.name for found in finder.in_folder(State.SCHEDULED, folder)]
        ahead = [int(name.extra) / 1000 for name in names if not name.is_due(now())]
        if ahead:
            return min(ahead)
    return float("inf")


def _due(finder: Finder, wanted: Filter, now: Now) -> Iterator[Found]:
    for folder in due_folders(finder, now):
        for found in finder.in_folder(State.SCHEDULED, folder):
            if found.name.is_due(now()) and (wanted is EVERYTHING or wanted(finder.facet(found.name.facet))):
                yield seen(found, now)
