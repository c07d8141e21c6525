"""A list of the names of ready tasks as they were at one time, and this process's way through it.

It is text, a marker's key in each line below a line of JSON that says when and how it was made. The most urgent are
first; of a long queue it holds only the first MOST, and is `cut`. Within a priority everybody starts at a page of
their own choice, goes on oldest first, and after the first name that somebody else was faster with, at random.
"""

import random
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any, Protocol

from dibs.errors import BadInput
from dibs.facets import Facet, Filter
from dibs.queues.stored.discovery import FILTERS, PAGE, walk_ready
from dibs.queues.stored.layout import Marker, parse_marker
from dibs.stores.store import Store
from dibs.task import decode, encode

FORMAT = 1
MOST = 10_000


class Marks(Protocol):
    """What others, who use the same list, have been given of it."""

    def free(self, index: int) -> bool: ...

    def take(self, index: int) -> bool:
        """False when somebody else was given it."""
        ...


class Listed:
    """What a listing found."""

    def __init__(self, keys: list[str], cut: bool) -> None:
        self.keys = keys
        self.cut = cut

    def to_bytes(self, made: float, **more: Any) -> bytes:
        head = {"dibs": "names", "format": FORMAT, "made": made, "count": len(self.keys), "cut": self.cut, **more}
        return encode(head) + "".join(f"{key}\n" for key in self.keys).encode()


def list_ready(store: Store, rng: random.Random, cut_before: bool) -> Listed:
    """At most MOST names, which takes a listing for each thousand and one for each priority. From a random shard on,
    and round, when the list before was cut: so that what stood behind its end has its turn too."""
    keys: list[str] = []
    for _, page in walk_ready(store, rng if cut_before else None):
        keys += page
        if len(keys) > MOST:
            return Listed(keys[:MOST], True)
    return Listed(keys, False)


class Snapshot:
    """Not safe for threads."""

    def __init__(self, head: dict[str, Any], keys: list[str], rng: random.Random, marks: Marks | None = None) -> None:
        self.made = float(head["made"])
        self.head = head
        self.cut = bool(head["cut"])
        self.size = len(keys)
        self._keys = keys
        self._rng = rng
        self._marks = marks
        self._order: list[int] = []
        self._ends: list[int] = []  # where each priority ends in `_order`
        self._begun: dict[Filter, int] = {}
        self._mixed: set[int] = set()
        self._given = bytearray(len(keys))
        for _, level in groupby(range(len(keys)), lambda index: keys[index].split("/")[1]):
            indexes = list(level)
            start = rng.randrange(0, len(indexes), PAGE)
            self._order += indexes[start:] + indexes[:start]
            self._ends.append(len(self._order))

    @property
    def listings(self) -> int:
        """About how many requests it took to make it."""
        return 1 + len(self._ends) + self.size // PAGE

    def priority(self, wanted: Filter, facet: Callable[[str], Facet]) -> int:
        """Of the next name that is wanted; -1 when there is none."""
        at = self._seek(wanted, facet)
        return -1 if at is None else int(self._keys[self._order[at]].split("/")[1])

    def take(self, wanted: Filter, facet: Callable[[str], Facet]) -> Marker | None:
        """The next name that nobody who shares this list was given; each one once."""
        while (at := self._seek(wanted, facet)) is not None:
            index = self._order[at]
            self._given[index] = 1
            if self._marks is None or self._marks.take(index):
                return parse_marker(self._keys[index])
        return None

    def missed(self) -> None:
        """Somebody who does not share the marks goes the same way: leave it, once for each priority."""
        at = min(self._begun.values(), default=0)
        end = next((end for end in self._ends if end > at), None)
        if end is None or end in self._mixed:
            return
        self._mixed.add(end)
        rest = self._order[at:end]
        self._rng.shuffle(rest)
        self._order[at:end] = rest
        self._begun = {wanted: min(begun, at) if begun < end else begun for wanted, begun in self._begun.items()}

    def _seek(self, wanted: Filter, facet: Callable[[str], Facet]) -> int | None:
        if len(self._begun) > FILTERS:
            self._begun.clear()
        at = self._begun.get(wanted, 0)
        while at < len(self._order):
            index = self._order[at]
            if not self._given[index] and (self._marks is None or self._marks.free(index)):
                marker = parse_marker(self._keys[index])
                if marker is not None and (not wanted or wanted(facet(marker.facet))):
                    break
            at += 1
        self._begun[wanted] = at
        return at if at < len(self._order) else None


def read(data: bytes) -> tuple[dict[str, Any], list[str]]:
    """The head and the keys. Raises BadInput when it is no list, or not whole."""
    first, newline, rest = data.partition(b"\n")
    head = decode(first)
    try:
        keys = rest.decode("ascii").splitlines()
        if head["format"] != FORMAT or head["count"] != len(keys) or not newline or rest[-1:] not in (b"\n", b""):
            raise ValueError("not whole")
        float(head["made"]), bool(head["cut"])
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"not a list of names: {error!r}") from None
    if not _sound(keys):
        raise BadInput("not a list of names: what is in it are no markers")
    return head, keys


def _sound(keys: Iterable[str]) -> bool:
    return all(key.startswith("pending/") and key.count("/") == 3 for key in keys)
