"""Names of ready tasks as tasks of another queue: `{"queue": …, "name": …}`, most of them with a key of their own.

A queue that holds anything else is left alone: its tasks are somebody's.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

from dibs.errors import BadInput, LeaseLost, StorageError, Unsupported
from dibs.facets import Facet, Filter
from dibs.queues.held import Lease
from dibs.queues.queue import Queue
from dibs.queues.stored.layout import Marker, parse_marker
from dibs.redact import redact
from dibs.states import State
from dibs.task import NewTask

TTL = 60.0
KEPT_SECONDS = 3600.0


class Names:
    """`place`: the bucket queue whose names these are."""

    def __init__(self, queue: Queue, place: str, facet: Callable[[str], Facet]) -> None:
        can = queue.capabilities
        if not can.push or (can.records and not can.owned):  # somebody else's files
            raise BadInput(f"{redact(queue.url)} cannot hold names of ready tasks; use a file:, memory: or sqs: queue")
        self.queue = queue
        self.called = redact(queue.url)
        self._place = place
        self._facet = facet

    def add(self, keys: Iterable[str]) -> None:
        """Those that are waiting already are not added again, where the queue has keys."""
        with trouble(self.called):
            self.queue.push_many(self._task(marker) for marker in map(parse_marker, keys) if marker is not None)

    def take(self, most: int, wanted: Filter) -> list[Marker]:
        """They are off the list for good when this returns."""
        leases = self._claim(most, wanted)
        found = [self._marker(lease) for lease in leases]
        markers = [marker for marker in found if marker is not None]
        if len(markers) < len(leases):
            for lease in leases:
                with suppress(LeaseLost):
                    lease.release()
            raise StorageError(
                f"{self.called} holds tasks that are no names of tasks of {self._place}; "
                "give discover= the URL of a queue that nothing else uses"
            )
        with trouble(self.called):
            self.queue.complete_many(leases)
        return markers

    def tidy(self) -> None:
        """Names are of no use once they were taken."""
        if self.queue.capabilities.records:
            with trouble(self.called):
                self.queue.purge(State.COMPLETED, older_than=KEPT_SECONDS)

    def _claim(self, most: int, wanted: Filter) -> list[Lease]:
        if wanted and not self.queue.capabilities.facets:
            raise Unsupported(f"{self.called} cannot filter names of ready tasks; claim without filters")
        with trouble(self.called):
            return self.queue.claim_many(
                most, ttl=TTL, project=wanted.project, labels=wanted.labels, max_priority=wanted.max_priority
            )

    def _task(self, marker: Marker) -> NewTask:
        can, facet = self.queue.capabilities, self._facet(marker.facet)
        payload = {"queue": self._place, "name": marker.key}
        key = marker.key.rpartition("/")[2] if can.keys else None
        if not can.facets:
            return NewTask(payload=payload, key=key)
        return NewTask(
            payload=payload, key=key, priority=facet.priority, project=facet.project, labels=facet.labels
        )  # fmt: skip

    def _marker(self, lease: Lease) -> Marker | None:
        payload = lease.payload
        if not isinstance(payload, dict) or payload.get("queue") != self._place:
            return None
        name = payload.get("name")
        marker = parse_marker(name) if isinstance(name, str) else None
        return marker if marker is not None and marker.state is State.READY else None


@contextmanager
def trouble(called: str) -> Iterator[None]:
    """Trouble with the other queue says whose it is."""
    try:
        yield
    except StorageError as error:
        raise StorageError(f"cannot learn what is ready from {called}: {error}") from error
