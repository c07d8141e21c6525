"""Which queues are served, and under which names. Each is opened when it is first used.

A client names a queue by its name in dibs.toml, or as it was given to the server; anything else is refused
unless the server was told to open any. Secrets in URLs are no part of a name.
"""

import threading
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

from dibs.errors import BadInput
from dibs.queues.queue import Queue
from dibs.redact import redact


class Place(Protocol):
    """Where a queue is, and the settings that apply to it."""

    url: str

    def setting(self, name: str) -> Any: ...


class Opening(Protocol):
    def __call__(self, place: Any, *, create: bool) -> Queue: ...


class Opened(NamedTuple):
    """A queue in use."""

    name: str
    place: Place
    queue: Queue


class Places:
    """Safe to use from several threads."""

    def __init__(
        self, given: Iterable[tuple[str, Place]], opening: Opening, find: Callable[[str], Place] | None = None
    ) -> None:
        """`given`: each queue by the word that names it, the default first. `find`: for other words; None: refused."""
        self._places: dict[str, Place] = {}
        for word, place in given:
            name = redact(word)
            if self._places.setdefault(name, place).url != place.url:
                raise BadInput(
                    f"two queues are called {name!r} once their secrets are left out; name them in dibs.toml"
                )
        self._opening = opening
        self._find = find
        self._open: dict[str, Opened] = {}
        self._lock = threading.Lock()

    @property
    def names(self) -> list[str]:
        return list(self._places)

    @property
    def urls(self) -> dict[str, str]:
        """By name, without secrets."""
        return {name: redact(place.url) for name, place in self._places.items()}

    @property
    def any(self) -> bool:
        return self._find is not None

    def use(self, word: str | None, *, create: bool = False) -> Opened:
        """The queue that a client means, opened; with `create`, made if it is not there."""
        with self._lock:
            name, place = self._place(word)
            if name not in self._open:
                self._open[name] = Opened(name, place, self._opening(place, create=create))
            return self._open[name]

    def close(self, leaving: Iterable[Queue] = ()) -> None:
        """Close what is open but for `leaving`: what those hold, their hearts give back when this process ends."""
        with self._lock:
            for opened in self._open.values():
                if opened.queue not in leaving:
                    opened.queue.close()
            self._open.clear()

    def _place(self, word: str | None) -> tuple[str, Place]:
        if word is None:
            return next(iter(self._places.items()))
        name = redact(word)
        if name in self._places:
            return name, self._places[name]
        for known, place in self._places.items():
            if word == place.url or name == redact(place.url):
                return known, place
        if self._find is None:
            raise BadInput(
                f"queue {name!r} is not served here; use one of: {', '.join(self._places)}, "
                f"or let a person name it on the command line of `dibs mcp`, or start it with --any-queue"
            )
        return name, self._find(word)
