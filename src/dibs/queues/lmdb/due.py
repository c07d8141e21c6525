"""What is due stands in SCHEDULED until a claimer meets it. A look shows it as ready, and writes nothing."""

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from dibs.queues.lmdb.database import Transaction
from dibs.queues.lmdb.known import Known
from dibs.queues.lmdb.layout import CELL, MICRO, SCHEDULED, TIME_AT, Standing
from dibs.queues.views import MOST_DUE
from dibs.states import seen
from dibs.task import Task

_LAST = b"\xff" * 16


def shown(known: Known, now: float) -> Task:
    return known.task.standing(seen(known.cell, now))


def until(now: float) -> bytes:
    """The last key of what is due."""
    return TIME_AT.pack(SCHEDULED, int(now * MICRO), _LAST)


def in_order(txn: Transaction, now: float) -> list[tuple[int, bytes]]:
    """Minus the priority, and the id, of all that is due: as they would run."""
    return sorted((-int(facet.partition(b"-")[0]), task) for task, facet in _due(txn, now))


def facets(txn: Transaction, now: float) -> Counter[bytes]:
    """How many of each facet are due. They are counted one by one, so no more than so many of them."""
    return Counter(facet for _, facet in islice(_due(txn, now), MOST_DUE))


def _due(txn: Transaction, now: float) -> Iterator[tuple[bytes, bytes]]:
    last = until(now)
    with txn.cursor() as cursor:
        if not cursor.set_range(SCHEDULED):
            return
        for key in cursor.iternext(keys=True, values=False):
            if key > last:
                return
            data = txn.get(CELL + key[-16:])
            if data is not None:
                yield key[-16:], Standing(data).facet
