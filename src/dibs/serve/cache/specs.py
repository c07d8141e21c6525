"""What a `specs:` queue shows, from remembered files, locks and what follows from them.

Names that come or go (also a file that is replaced, as dibs and most editors do) are seen at once, by the folder's
times. A file that is written in place is seen by its event, a moment later. Where there are no events, and now and then
for one that was lost, every file is looked at, as the queue itself does for each list.
"""

from collections.abc import Iterable, Iterator

from dibs.facets import make_filter
from dibs.queues.queue import ended_state
from dibs.queues.specs.catalogue import Catalogue
from dibs.queues.specs.queue import SpecsQueue
from dibs.queues.views import Claim, Stats
from dibs.serve.cache.ledger import KnownLedger
from dibs.serve.cache.listing import KnownListing
from dibs.serve.cache.order import KnownLooks
from dibs.task import Task


class KnownSpecs:
    lasting = False

    def __init__(self, queue: SpecsQueue) -> None:
        self._queue = queue
        self.folder = queue.folder
        self.files = KnownListing(queue.folder, queue._catalogue.listing)
        self.ledger = KnownLedger(queue)
        self.catalogue = Catalogue(self.files, queue.folder, self.ledger.over)
        self.looks = queue.looks(KnownLooks, self.catalogue, self.ledger)

    def tasks(
        self,
        state: str | None = None,
        *,
        project: str | None = None,
        labels: Iterable[str] = (),
        limit: int | None = None,
    ) -> Iterator[Task]:
        return self.looks.tasks(state, make_filter(project, labels), limit)

    def newest(
        self, state: str, *, project: str | None = None, labels: Iterable[str] = (), limit: int | None = None
    ) -> Iterator[Task]:
        return self.tasks(ended_state(state), project=project, labels=labels, limit=limit)

    def stats(self) -> Stats:
        return self.looks.stats(self._queue.paused)

    def claimed(self) -> list[Claim]:
        return self.looks.claims()
