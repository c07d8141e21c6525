"""All specs at a moment, for whoever lists or looks for work. Safe for threads."""

from collections.abc import Callable, Iterator, Mapping
from threading import Lock

from dibs.clock import Clock
from dibs.facets import Facet, Filter
from dibs.queues.leased import Look
from dibs.specs.archive import Archive
from dibs.specs.graph import Graph
from dibs.specs.listing import Listing
from dibs.specs.spec import Spec
from dibs.specs.statuses import Status
from dibs.specs.view import View
from dibs.states import State

FRESH_SECONDS = 1.0
SHARE = 10  # at most one part in so many of a claimer's time goes into looking


class Catalogue:
    def __init__(self, listing: Callable[[], Listing], folder: str, over: Callable[[], Mapping[str, State]]) -> None:
        self._listing = listing
        self._folder = folder
        self._over = over
        self._lock = Lock()

    def listing(self) -> Listing:
        with self._lock:
            return self._listing()

    def view(self, now: float) -> View:
        over = self._over()  # first: who ends a spec writes its file before he lets go of it
        listing = self.listing()
        return View(listing, Graph(listing.nodes, Archive(self._folder)), over, now)

    def archived(self, ref: str) -> bool:
        return Archive(self._folder)(ref) is Status.COMPLETED


class Walk:
    """The ids of what was ready when it was made, best first; each is given out once."""

    def __init__(self, view: View, wanted: Filter, made: float, took: float) -> None:
        self._ids = self._found(view, wanted)
        self.old_at = made + max(FRESH_SECONDS, took * SHARE)

    def next(self) -> str | None:
        return next(self._ids, None)

    def _found(self, view: View, wanted: Filter) -> Iterator[str]:
        ids = view.listing.ids
        for place in view.ready():
            if wanted:
                spec = view.listing.at(place)
                if not isinstance(spec, Spec) or not wanted(Facet(spec.priority, spec.project, spec.labels)):
                    continue
            yield ids[place]


class Scanning:
    """Candidates for claimers. What a walk says is a hint; the claimer looks again once it has the lock."""

    def __init__(self, catalogue: Catalogue, now: Callable[[], float], clock: Clock) -> None:
        self._catalogue = catalogue
        self._now = now
        self._clock = clock
        self._lock = Lock()
        self._walks: dict[Filter, Walk] = {}

    def next(self, look: Look, wanted: Filter) -> str | None:
        """One that may be ready, or None when all were looked at since the look began."""
        with self._lock:
            walk = self._walks.get(wanted)
            if walk is not None and (look.anew or self._clock.boottime() < walk.old_at):
                found = walk.next()
                if found is not None or look.anew:
                    return found
            look.anew = True
            begun = self._clock.boottime()
            view = self._catalogue.view(self._now())
            made = self._clock.boottime()
            if len(self._walks) > 100:
                self._walks.clear()
            self._walks[wanted] = walk = Walk(view, wanted, made, made - begun)
            return walk.next()

    def forget(self) -> None:
        """Something was added here: look anew."""
        with self._lock:
            self._walks.clear()
