"""The gate of a queue over a store: what `departing` and `admitting` do."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from dibs.keys import Keys
from dibs.queues.gate import Gate
from dibs.queues.keyed import taken
from dibs.queues.parcel import Outcome, Parcel
from dibs.queues.stored.admitting import Admitter
from dibs.queues.stored.cells import Cells
from dibs.queues.stored.departing import Departing
from dibs.states import State


class StoredGate(Gate):
    def __init__(
        self,
        address: str,
        cells: Cells,
        keys: Keys,
        departing: Departing,
        admitter: Admitter,
        upkeep: Callable[[], object],
        came_in: Callable[[], None],
    ) -> None:
        self.address = address
        self._cells = cells
        self._keys = keys
        self._departing = departing
        self._admitter = admitter
        self._upkeep = upkeep
        self._came_in = came_in

    def tend(self) -> None:
        self._upkeep()

    def export(self, state: State) -> Iterator[Parcel]:
        return self._departing.export(state)

    def find(self, ref: str) -> Parcel | None:
        return self._departing.find(ref)

    def depart(self, parcels: Sequence[Parcel], to: str) -> list[Parcel]:
        return self._departing.depart(parcels, to)

    def departed(self, to: str | None = None) -> Iterator[Parcel]:
        return self._departing.departed(to)

    def dismiss(self, parcels: Iterable[Parcel]) -> None:
        self._departing.dismiss(parcels)

    def objections(self, parcels: Iterable[Parcel]) -> dict[str, str]:
        coming = list(parcels)
        found = taken(coming, self._keys.lookup, self._cells.state_of)
        for parcel in coming:
            address = self._departing.leaving(parcel.id)
            if address is not None:
                found[parcel.id] = f"it is on its way from here to {address}; finish that move first"
        return found

    def admit(self, parcels: Sequence[Parcel]) -> dict[str, Outcome]:
        try:
            return self._admitter.admit(parcels)
        finally:
            self._came_in()

    def missing(self, ids: Iterable[str]) -> set[str]:
        return self._admitter.missing(ids)
