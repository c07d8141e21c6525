"""Changes of a `specs:` queue: of a file, or of what follows from other files, from locks and from time."""

from binascii import crc32
from collections.abc import Iterator, Mapping

from dibs.queues.queue import Queue
from dibs.queues.specs.queue import SpecsQueue
from dibs.queues.specs.tasks import task_of
from dibs.serve.cache.order import Order
from dibs.serve.cache.specs import KnownSpecs
from dibs.serve.masking import NOTHING_HIDDEN, Masking
from dibs.serve.search.sources import Change
from dibs.serve.search.words import MOST_CHARACTERS, Words, of_task
from dibs.specs.badspec import BadSpec
from dibs.specs.cache import NO_STAMP
from dibs.specs.frontmatter import body
from dibs.states import State


class SpecsSource:
    def __init__(self, queue: Queue, look: KnownSpecs, mask: Masking = NOTHING_HIDDEN) -> None:
        self._mask = mask
        assert isinstance(queue, SpecsQueue)
        self._queue = queue
        self._look = look
        self._order: Order | None = None

    def forget(self) -> None:
        self._order = None

    def changes(self, known: Mapping[str, str]) -> Iterator[Change]:
        view = self._look.catalogue.view(self._queue.store_time())
        order = self._look.looks.order(view)
        if order is self._order:
            return
        listing, snapshot = view.listing, view.listing._snapshot
        there = set()
        for place, state in order.all:
            name, stamp = listing.ids[place], snapshot.stamp(place)
            there.add(name)
            signature = f"{state} {crc32(stamp):08x}{len(snapshot.lines[place]):x}"
            fresh = stamp == NO_STAMP  # it may have changed again, and look the same
            if (fresh or known.get(name) != signature) and (words := self._words(name, state)) is not None:
                yield Change(name, signature, words)
        for name in known.keys() - there:
            yield Change(name, "", None)
        self._order = order

    def _words(self, name: str, state: State) -> Words | None:
        try:
            page = self._queue._pages.read(name)
        except BadSpec:
            return None
        if page is None:
            return None
        task = task_of(page.spec, self._queue._limits).standing(self._look.looks.cell(page.spec, state))
        words = of_task(self._mask.task(task), str(page.spec.status))
        text = f"{words.text} {body(page.data).decode(errors='replace')}"
        return words._replace(title=page.spec.title, text=text[:MOST_CHARACTERS])
