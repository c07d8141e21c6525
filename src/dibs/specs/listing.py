"""All specs of a folder at one moment. Each becomes a value when it is asked for, not before."""

import json
import os
from collections.abc import Iterator
from functools import cached_property

from dibs.errors import TaskNotFound
from dibs.specs.cache import Snapshot
from dibs.specs.ids import SUFFIX, resolve
from dibs.specs.nodes import BROKEN, Nodes, split
from dibs.specs.spec import Broken, Spec, from_values


class Listing:
    """Iterates by id. Places (`at`) are those of `nodes`, in no order."""

    def __init__(self, folder: str, snapshot: Snapshot) -> None:
        self.folder = folder
        self._snapshot = snapshot

    def __len__(self) -> int:
        return len(self._snapshot)

    def __iter__(self) -> Iterator[Spec | Broken]:
        return (self.at(place) for place in sorted(range(len(self)), key=self.ids.__getitem__))

    @cached_property
    def ids(self) -> list[str]:
        cut = -len(SUFFIX)
        return [name[:cut] for name in self._snapshot.names]

    @cached_property
    def nodes(self) -> Nodes:
        codes, priorities, waits, not_before = self._snapshot.hot
        return Nodes(self.ids, codes, priorities, split(waits), not_before)

    @cached_property
    def places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.ids)}

    def at(self, place: int) -> Spec | Broken:
        kept = self._snapshot
        path = os.path.join(self.folder, kept.names[place])
        values = json.loads(kept.lines[place])
        if kept.hot[0][place] == BROKEN:
            return Broken(self.ids[place], path, values["line"], values["reason"])
        return from_values(self.ids[place], path, values)

    def get(self, id: str) -> Spec | Broken:  # noqa: A002
        """TaskNotFound when there is none of that very id."""
        place = self.places.get(id)
        if place is None:
            raise TaskNotFound(f"no spec is called {id!r} in {self.folder}; `dibs specs list` shows those there are")
        return self.at(place)

    def find(self, ref: str) -> Spec | Broken:
        """By id or a unique short form of it; see `ids.resolve`."""
        return self.get(resolve(ref, self.places))

    def specs(self) -> Iterator[Spec]:
        return (spec for spec in self if isinstance(spec, Spec))

    def broken(self) -> list[Broken]:
        places = [place for place, code in enumerate(self._snapshot.hot[0]) if code == BROKEN]
        found = [self.at(place) for place in sorted(places, key=self.ids.__getitem__)]
        return [one for one in found if isinstance(one, Broken)]
