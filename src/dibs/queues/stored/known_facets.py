"""The facets of a stored queue: `facets/<code>` says what a code in a marker's name stands for."""

from contextlib import suppress

from dibs.errors import BadInput
from dibs.facets import Facet, facet_from_record, plain_facet
from dibs.stores import settle
from dibs.stores.store import Exists, Store
from dibs.task import decode


class KnownFacets:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._facets: dict[str, Facet] = {}
        self._registered: set[str] = set()

    def register(self, facet: Facet) -> None:
        code = facet.code
        if "-" in code and code not in self._registered:
            with suppress(Exists):
                settle.create(self._store, f"facets/{code}", facet.to_bytes())
            self._registered.add(code)
        self._facets[code] = facet

    def get(self, code: str) -> Facet:
        """One whose record is missing or damaged counts by its priority alone, for now."""
        known = self._facets.get(code) or plain_facet(code)
        if known is None:
            entry = self._store.get(f"facets/{code}")
            try:
                known = facet_from_record(decode(entry.data if entry else b""))
            except BadInput:
                priority = code.partition("-")[0]
                return Facet(int(priority)) if priority.isdigit() else Facet()
            self._facets[code] = known
        return known
