"""What is over, by when it ended: the same order from the queue and through a daemon, page by page."""

import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

import dibs
from dibs.errors import BadInput
from dibs.queues.files.queue import FilesQueue
from dibs.queues.queue import Queue
from dibs.serve.cache import dated
from dibs.serve.cache.files import KnownFiles
from dibs.serve.cache.remembering import Remembering
from postgres.places import migrated, url
from serve.daemon import Daemon
from servers.server import Server


@pytest.fixture(params=["file", "lmdb", "postgres", "redis"])
def place(request: pytest.FixtureRequest, quick_folder: Path) -> str:
    name = f"newest_{uuid4().hex[:8]}"
    if request.param == "postgres":
        server: Server = request.getfixturevalue("postgres")
        found = url(server, name)
        migrated(found)
        return found
    if request.param == "redis":
        return f"{request.getfixturevalue('redis_server').endpoint}/0?queue={name}&warn=off"
    return f"{request.param}:{quick_folder}/q?sync=off"


@pytest.fixture
def daemon(place: str) -> Iterator[Daemon]:
    started = Daemon(lambda: dibs.open(place, pid=None), beside=[Remembering()])
    yield started
    started.stop()


def tick() -> None:
    """Until files get another time: the kernel's clock for them goes by steps."""
    with tempfile.NamedTemporaryFile() as probe:
        before = os.stat(probe.name).st_ctime_ns
        while os.stat(probe.name).st_ctime_ns == before:
            os.utime(probe.name)


def ended(queue: Queue, count: int) -> dict[str, list[str]]:
    """Ids by the state in which tasks ended, the last first; pushed in another order than they end."""
    queue.push_many([{"n": n} for n in range(count)])
    leases = queue.claim_many(count, ttl=600)
    random.Random(3).shuffle(leases)
    found: dict[str, list[str]] = {"completed": [], "failed": [], "cancelled": []}
    for number, lease in enumerate(leases):
        tick()
        if number % 5 == 1:
            lease.fail("no", retry=False)
            found["failed"].insert(0, lease.id)
        elif number % 5 == 2:
            queue.cancel(lease.id)
            found["cancelled"].insert(0, lease.id)
        else:
            lease.complete()
            found["completed"].insert(0, lease.id)
    return found


def test_the_last_comes_first(place: str, daemon: Daemon) -> None:
    with dibs.open(place) as queue, dibs.open(daemon.url) as remote:
        assert list(queue.newest()) == list(remote.newest("failed")) == []
        expected = ended(queue, 30)
        for state, ids in expected.items():
            for look in (queue, remote):
                assert [task.id for task in look.newest(state)] == ids, (state, look)
                assert [task.id for task in look.newest(state, limit=3)] == ids[:3]
                assert list(look.newest(state, project="none")) == []
                assert sorted(task.id for task in look.tasks(state)) == sorted(ids)
        ask = remote._connections.get  # type: ignore[attr-defined]
        first = ask("/tasks", state="completed", order="newest", page=4)
        second = ask("/tasks", next=first["next"], page=4)
        assert [task["id"] for task in first["tasks"] + second["tasks"]] == expected["completed"][:8]
        queue.push({"n": "last"})
        lease = queue.claim(ttl=600)
        assert lease is not None
        lease.complete()
        assert next(iter(remote.newest())).id == next(iter(queue.newest())).id == lease.id
        for look in (queue, remote):
            with pytest.raises(BadInput, match="not the end of a task"):
                list(look.newest("ready"))
        with pytest.raises(BadInput, match="use run or newest"):
            ask("/tasks", order="oldest")


def test_many_pages_from_the_end(quick_folder: Path) -> None:
    """More than a page of LMDB."""
    with dibs.open(f"lmdb:{quick_folder}/l?sync=off") as queue:
        expected = ended(queue, 700)
        assert [task.id for task in queue.newest()] == expected["completed"]


@pytest.fixture
def known(quick_folder: Path) -> Iterator[tuple[FilesQueue, KnownFiles]]:
    with dibs.open(f"file:{quick_folder}/q?sync=off&shards=4") as queue:
        assert isinstance(queue, FilesQueue)
        yield queue, KnownFiles(queue)


def test_only_what_is_new_is_looked_at(known: tuple[FilesQueue, KnownFiles], monkeypatch: pytest.MonkeyPatch) -> None:
    queue, look = known
    looked: list[str] = []
    read = dated._ended
    monkeypatch.setattr(dated, "_ended", lambda path: looked.append(path) or read(path))
    ids = ended(queue, 40)["completed"]
    assert [task.id for task in look.newest("completed")] == ids
    assert len(looked) == len(ids)
    more = ended(queue, 5)["completed"]
    assert [task.id for task in look.newest("completed")] == [*more, *ids]
    assert len(looked) == len(ids) + len(more)


def test_of_very_many_no_file_is_looked_at(
    known: tuple[FilesQueue, KnownFiles], monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, look = known
    monkeypatch.setattr(dated, "MOST_DATED", 10)
    monkeypatch.setattr(dated, "_ended", lambda path: os.abort())
    ids = ended(queue, 40)["completed"]
    assert [task.id for task in look.newest("completed")] == sorted(ids, reverse=True)
