"""Indexes over queues, each in a cache folder of the test's own."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.queues.queue import Queue
from dibs.serve.cache.looking import looking
from dibs.serve.search.asking import MOST, asked
from dibs.serve.search.keeping import Keeping
from dibs.serve.search.shelf import Shelf, place_of
from dibs.serve.search.sources import source_of


class Indexed:
    """A queue and its index."""

    def __init__(self, queue: Queue, *, every: float = 0.0, **options: Any) -> None:
        self.queue = queue
        self.said: list[str] = []
        self.shelf = Shelf(place_of(queue.address), queue.address)
        self.source = source_of(queue, looking(queue), every)
        self.keeping = Keeping(queue, self.source, self.shelf, log=self.said.append, **options)

    def find(self, query: str, sort: str | None = None) -> list[Any]:
        return [hit["task"] for hit in self.keeping.find(asked(query, sort, MOST))["tasks"]]

    def ids(self, query: str) -> set[str]:
        return {task["id"] for task in self.find(query)}

    def close(self) -> None:
        self.keeping.close()


@pytest.fixture
def cache(quick_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(quick_folder / "xdg"))
    return quick_folder / "xdg" / "dibs"


@pytest.fixture
def specs(quick_folder: Path, cache: Path) -> Path:
    folder = quick_folder / ".dibs" / "specs"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def url(quick_folder: Path, cache: Path) -> str:
    return f"file:{quick_folder}/q?sync=off&shards=4"


@pytest.fixture
def indexed(url: str) -> Iterator[Callable[..., Indexed]]:
    """A new one each time, of the same queue unless told otherwise."""
    made: list[Indexed] = []

    def one(place: str = url, **options: Any) -> Indexed:
        made.append(Indexed(dibs.open(place, pid=None), **options))
        return made[-1]

    yield one
    for found in made:
        found.close()
        found.queue.close()
