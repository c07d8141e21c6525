"""Search over HTTP, and that whoever claims never waits for it."""

import http.client
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.errors import BadInput, Unsupported
from dibs.queues.queue import Queue
from dibs.queues.remote import RemoteQueue
from dibs.serve.cache.remembering import Remembering
from dibs.serve.search import searching
from dibs.serve.search.from_files import FilesSource
from dibs.serve.search.searching import Searching
from dibs.serve.search.sources import Change
from serve.daemon import TOKEN, Daemon
from waiting import PATIENCE, until


@pytest.fixture
def start(url: str) -> Iterator[Callable[..., Daemon]]:
    started: list[Daemon] = []

    def one(place: str = url, **options: Any) -> Daemon:
        opening: Callable[[], Queue] = lambda: dibs.open(place, pid=None)  # noqa: E731
        started.append(Daemon(opening, beside=[Remembering(), Searching(**options)]))
        return started[-1]

    yield one
    for daemon in started:
        daemon.stop()


@contextmanager
def asked(daemon: Daemon) -> Iterator[RemoteQueue]:
    with dibs.open(daemon.url) as queue:
        assert isinstance(queue, RemoteQueue)
        yield queue


def ids(answer: Any) -> list[str]:
    return [hit["task"]["id"] for hit in answer["tasks"]]


def test_one_finds_what_one_has_just_done(start: Callable[..., Daemon]) -> None:
    with asked(start()) as queue:
        for number in range(20):
            low = queue.push({"word": "needle", "n": number}, labels=["backend"])
            high = queue.push({"word": "needle", "n": number}, labels=["backend"], priority="high")
            found = queue.search(f"needle {number} label:backend status:pending", "priority")
            assert ids(found) == [high.id, low.id]
            queue.cancel(low.id)
            assert ids(queue.search(f"needle {number} ready:true")) == [high.id]
            assert [task.id for task in queue.tasks("cancelled")][-1] == low.id
            lease = queue.claim()
            assert lease is not None
            lease.complete()
            assert ids(queue.search(f"{number} state:completed")) == [high.id]


def test_a_bad_query_is_said_as_here(start: Callable[..., Daemon]) -> None:
    with asked(start()) as queue:
        with pytest.raises(BadInput, match="not closed"):
            queue.search("(a")
        with pytest.raises(BadInput, match="sort"):
            queue.search("a", "size")


def test_all_queues_at_once(start: Callable[..., Daemon]) -> None:
    daemon = start()
    with asked(daemon) as queue:
        task = queue.push({"word": "needle"})
        found = fetch(daemon, "/v1/search?q=needle&sort=priority&limit=5")
    assert found == {
        "found": 1,
        "tasks": [
            {"queue": "q", "score": None, "task": {**task.to_json(), "labels": [], "after": [], "state": "ready"}}
        ],
        "without": {},
    }


def fetch(daemon: Daemon, path: str) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=PATIENCE)
    connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}"})
    answer = json.loads(connection.getresponse().read())
    connection.close()
    return answer


def test_a_daemon_without_search_says_so(url: str) -> None:
    daemon = Daemon(lambda: dibs.open(url, pid=None))
    try:
        with asked(daemon) as queue, pytest.raises(Unsupported, match="does not search"):
            queue.search("a")
    finally:
        daemon.stop()


def test_nobody_who_claims_waits_for_an_index(start: Callable[..., Daemon], monkeypatch: pytest.MonkeyPatch) -> None:
    """The index is held up for good; more searches wait than there are threads; work goes on."""
    go_on, begun = threading.Event(), threading.Event()
    changes = FilesSource.changes

    def stuck(self: FilesSource, known: Mapping[str, str]) -> Iterator[Change]:
        begun.set()
        go_on.wait()
        return changes(self, known)

    monkeypatch.setattr(FilesSource, "changes", stuck)
    daemon = start()
    assert begun.wait(PATIENCE)
    results: list[Any] = []

    def search() -> None:
        with asked(daemon) as queue:
            results.append(queue.search("needle")["found"])

    searchers = [threading.Thread(target=search) for _ in range(12)]
    try:
        for searcher in searchers:
            searcher.start()
        with asked(daemon) as queue:
            queue.push_many([{"word": "needle"} for _ in range(50)])
            done = 0
            for lease in queue.claims():
                lease.complete()
                done += 1
            assert done == 50
        assert not results
    finally:
        go_on.set()
        for searcher in searchers:
            searcher.join()
    assert results == [50] * 12


def test_an_index_is_ready_before_anybody_asks(start: Callable[..., Daemon], url: str, cache: Path) -> None:
    with dibs.open(url) as queue:
        queue.push_many([{"n": number} for number in range(500)])
    daemon = start()
    until(lambda: list(cache.glob("search-*/index/*.store")), "the index")
    daemon.stop()


def test_an_index_in_memory(start: Callable[..., Daemon], cache: Path) -> None:
    with asked(start(folder="none")) as queue:
        queue.push({"word": "needle"})
        assert queue.search("needle")["found"] == 1
    assert not list(cache.glob("search-*"))


def test_an_index_elsewhere(start: Callable[..., Daemon], tmp_path: Path) -> None:
    with asked(start(folder=str(tmp_path))) as queue:
        queue.push({"word": "needle"})
        assert queue.search("needle")["found"] == 1
    assert list(tmp_path.glob("search-*/index/meta.json"))


def test_two_daemons_on_one_folder(start: Callable[..., Daemon]) -> None:
    with asked(start()) as one, asked(start()) as other:
        task = one.push({"word": "needle"})
        assert ids(other.search("needle")) == ids(one.search("needle")) == [task.id]
        lease = other.claim()
        assert lease is not None
        assert [found.id for found in one.tasks("claimed")] == [task.id]
        assert ids(one.search("state:claimed")) == [task.id]
        lease.complete()
        assert ids(one.search("state:completed")) == [task.id]


def test_a_daemon_that_stops_while_it_indexes(start: Callable[..., Daemon], url: str) -> None:
    with dibs.open(url) as queue:
        queue.push_many([{"n": number} for number in range(3000)])
    start().stop()
    with asked(start()) as remote:
        assert remote.search("*")["found"] == 3000


def test_too_many_at_once_are_told_to_come_later(start: Callable[..., Daemon], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "MOST_WAITING", 0)
    answer = fetch(start(), "/v1/queues/q/search?q=a")
    assert answer["error"]["kind"] == "busy"
