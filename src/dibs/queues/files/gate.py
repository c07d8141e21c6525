"""The gate of a file queue: what `departing` and `admitting` do, and what follows from it for those who wait."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from dibs.queues.files.admitting import Admitter
from dibs.queues.files.departing import Departing
from dibs.queues.files.fs import storage_error, told
from dibs.queues.files.parts import Parts
from dibs.queues.files.steering import Steering
from dibs.queues.files.upkeep import Upkeep
from dibs.queues.files.waits import Waits
from dibs.queues.gate import Gate
from dibs.queues.keyed import taken
from dibs.queues.parcel import Outcome, Parcel
from dibs.states import State


class FilesGate(Gate):
    def __init__(
        self,
        address: str,
        parts: Parts,
        waits: Waits,
        steering: Steering,
        upkeep: Upkeep,
        came_in: Callable[[], None],
    ) -> None:
        self.address = address
        self.root = parts.layout.root
        self._parts = parts
        self._steering = steering
        self._upkeep = upkeep
        self._came_in = came_in
        self._departing = Departing(parts, waits)
        self._admitter = Admitter(parts, waits)

    @told("look after")
    def tend(self) -> None:
        self._upkeep.run(idle=True)

    def export(self, state: State) -> Iterator[Parcel]:
        try:
            yield from self._departing.export(state)
        except OSError as error:
            raise storage_error(error, f"cannot list {self.root}") from error

    def ids(self, state: State) -> Iterator[str]:
        return self._departing.ids(state)

    @told("look into")
    def find(self, ref: str) -> Parcel | None:
        return self._departing.find(ref)

    @told("move tasks out of")
    def depart(self, parcels: Sequence[Parcel], to: str) -> list[Parcel]:
        return self._departing.depart(parcels, to)

    def departed(self, to: str | None = None) -> Iterator[Parcel]:
        try:
            yield from self._departing.departed(to)
        except OSError as error:
            raise storage_error(error, f"cannot list {self.root}/moving") from error

    @told("delete what was moved out of")
    def dismiss(self, parcels: Iterable[Parcel]) -> None:
        self._departing.dismiss(parcels)

    @told("look into")
    def objections(self, parcels: Iterable[Parcel]) -> dict[str, str]:
        coming = list(parcels)
        found = taken(coming, self._parts.lookup_key, self._parts.state_of)
        for task_id, address in self._departing.leaving(parcel.id for parcel in coming).items():
            found[task_id] = f"it is on its way from here to {address}; finish that move first"
        return found

    @told("move tasks into")
    def admit(self, parcels: Sequence[Parcel]) -> dict[str, Outcome]:
        with self._admitter.alone():
            leaving = self._departing.leaving(parcel.id for parcel in parcels)
            outcomes = self._admitter.admit(parcels, leaving)
        for parcel in parcels:
            if parcel.state is State.BLOCKED:
                self._steering.unblock(parcel.id)
            elif parcel.state is State.COMPLETED:
                self._steering.free_waiting(parcel.id, parcel.task.key)
        self._came_in()
        return outcomes

    @told("look into")
    def missing(self, ids: Iterable[str]) -> set[str]:
        wanted = set(ids)
        absent = wanted - self._parts.finder.among(wanted)
        return absent - self._departing.leaving(absent).keys()
