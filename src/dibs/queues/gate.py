"""A queue's gate: how whole tasks leave it and come in, for `dibs move` and `dibs copy`.

    depart    takes tasks out of circulation by one compare-and-set each, marked with where they go
    admit     lets them in where they go; the same task twice is one task
    dismiss   deletes what has departed, once it is known to be there

Each of the three is durable when it returns and harmless when repeated, and a task goes through them in this order
only: so whoever dies in between, anybody may go on, any number at a time, and a task is never ready in two queues.
What has departed is no task of its queue any more: it is not listed, claimed, cancelled, retried or purged
there, and its key is free.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence

from dibs.queues.parcel import Outcome, Parcel
from dibs.states import State


class Gate(ABC):
    """Get one from `queue.gate()`. Every method may raise StorageError; what was done until then stays."""

    #: Names the queue: the same wherever it was opened from, and without secrets.
    address: str

    @property
    def identity(self) -> str:
        """Names the queue where an address may be written in several ways."""
        return self.address

    @abstractmethod
    def tend(self) -> None:
        """Do what a claimer would: give back what dead workers held, make due tasks ready."""

    # Out

    @abstractmethod
    def export(self, state: State) -> Iterator[Parcel]:
        """Every task of a state that can be read. A snapshot by reading, not a transaction."""

    def ids(self, state: State) -> Iterator[str]:
        """Of every task of a state, from their names alone where that can be."""
        return (parcel.id for parcel in self.export(state))

    @abstractmethod
    def find(self, ref: str) -> Parcel | None:
        """The task with this id or key; None when there is none, or it has departed."""

    @abstractmethod
    def depart(self, parcels: Sequence[Parcel], to: str) -> list[Parcel]:
        """Those that were still as packed, now out of circulation and marked. The others have moved on, and stay."""

    @abstractmethod
    def departed(self, to: str | None = None) -> Iterator[Parcel]:
        """What is marked as on its way, to one address or to any."""

    @abstractmethod
    def dismiss(self, parcels: Iterable[Parcel]) -> None:
        """Delete what has departed, as `depart` or `departed` gave it."""

    # In

    @abstractmethod
    def objections(self, parcels: Iterable[Parcel]) -> dict[str, str]:
        """Of those that had better not be sent: by id, the reason. Changes nothing."""

    @abstractmethod
    def admit(self, parcels: Sequence[Parcel]) -> dict[str, Outcome]:
        """Let tasks in as they stood, epochs and counters going on. By id, what became of each."""

    @abstractmethod
    def missing(self, ids: Iterable[str]) -> set[str]:
        """Which of these ids no task has here, looked up anew; one that has departed meanwhile is not missing."""
