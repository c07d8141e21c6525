"""A worker that goes from one daemon to another that the first cannot see: on two hosts, or of two users. The queue
itself says whether it lives; who lives keeps its lease, and nobody is counted as dead."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import dibs
from dibs.clock import SYSTEM
from dibs.host import this_host
from dibs.queues.queue import Queue
from dibs.serve.signs import Seen
from dibs.values import replace
from postgres.places import migrated, url
from postgres.relay import Relay
from serve.daemon import Daemon
from serve.test_both_die import stream
from servers.server import Server
from waiting import PATIENCE, until

TTL = 60.0
Pair = tuple[Daemon, Daemon]


def place(kind: str, folder: Path, request: pytest.FixtureRequest) -> str:
    if kind == "files":
        return f"file:{folder}/q?sync=off"
    if kind == "lmdb":
        return f"lmdb:{folder}/l?sync=off"
    server: Server = request.getfixturevalue({"redis": "redis_server", "bucket": "moto"}.get(kind, kind))
    if kind == "redis":
        return f"{server.endpoint}/0?queue=q{uuid4().hex}&warn=off"
    if kind == "bucket":
        return server.url(server.bucket(), fresh=0.3, upkeep=0.3, idle=0.4)
    found = url(server, f"moved_{uuid4().hex[:8]}")
    migrated(found)
    return found


def opening(where: str, boot: str) -> Callable[[], Queue]:
    """As a daemon on a host of its own would open it."""
    host = replace(this_host(), name=boot, machine=boot, boot=f"{boot}/0")
    return lambda: dibs.open(where, pid=None, host=host)


@pytest.fixture(params=["files", "lmdb", "redis", "postgres", "bucket"])
def pair(request: pytest.FixtureRequest, quick_folder: Path) -> Iterator[Pair]:
    where = place(request.param, quick_folder, request)
    local = request.param == "lmdb"
    daemons = [
        Daemon((lambda: dibs.open(where, pid=None)) if local else opening(where, boot), grace=3.0)
        for boot in ("one", "two")
    ]
    yield daemons[0], daemons[1]
    for daemon in daemons:
        daemon.stop()


def claimed(daemon: Daemon) -> dict[str, Any]:
    """By a session that is then dropped."""
    with dibs.open(daemon.url) as queue:
        queue.push(1)
        end = stream(daemon, "w")
        lease: dict[str, Any] = queue._connections.post(  # type: ignore[attr-defined]
            "/claim", {"ttl": TTL, "session": "w"}
        )["leases"][0]
        until(lambda: daemon.house.counters["q"].desk.ties.of("w") != [])
        end()
        until(lambda: "w" in daemon.house.counters["q"].sessions._burying)
    return lease


def settled(daemon: Daemon) -> bool:
    return daemon.house.counters["q"].desk.ties.of("w") == []


def test_who_renews_through_another_is_not_dead(pair: Pair) -> None:
    one, two = pair
    lease = claimed(one)
    end = stream(two, "w")
    path, pause = f"/tasks/{lease['id']}/renew", threading.Event()
    with dibs.open(two.url) as queue:
        while not settled(one):
            queue._connections.post(path, {"epoch": 1, "session": "w"})  # type: ignore[attr-defined]
            pause.wait(0.3)
        assert one.logged == []
        held = queue.lease(lease["id"], 1)
        held.renew()
        held.complete("kept")
        found = queue.detail(lease["id"])
    end()
    assert (found.task.epoch, found.task.deaths, found.result) == (1, 0, "kept")
    assert [event.what for event in found.history] == ["completed"]


def test_who_renews_nowhere_is_dead(pair: Pair) -> None:
    one, two = pair
    began = SYSTEM.boottime()
    lease = claimed(one)
    until(lambda: settled(one))
    assert SYSTEM.boottime() - began < TTL  # sooner than by waiting for its time to run out
    until(lambda: "session dropped" in str(one.logged))  # a moment later than it is so
    with dibs.open(two.url) as queue:
        again = queue.claim(ttl=TTL, wait=50)
        assert again is not None
        assert (again.id, again.epoch, again.task.deaths) == (lease["id"], 2, 1)
        assert [event.what for event in queue.detail(again.id).history] == ["died"]


def beat(queue: Queue, task_id: str) -> float:
    claim = queue.detail(task_id).claim
    assert claim is not None
    return claim.heartbeat_at


def test_a_client_that_changes_over_renews_at_once(pair: Pair) -> None:
    """Through an address behind which stands first one daemon, then the other."""
    one, two = pair
    with Relay("127.0.0.1", one.port) as relay, dibs.open(one.url.replace(f":{one.port}/", f":{relay.port}/")) as queue:
        queue.push(1)
        lease = queue.claim(ttl=60)
        assert lease is not None
        name = queue._session.name()  # type: ignore[attr-defined]
        counter = one.house.counters["q"]
        until(lambda: counter.desk.ties.of(name) != [])
        until(lambda: counter.sessions.here(name))
        missed, looked, renewed = counter.sessions._missed, threading.Event(), threading.Event()

        async def looking(session: str) -> Seen:
            """The first look comes before the renewal, and the grace begins after it, however slow both are."""
            seen = await missed(session)
            looked.set()
            await asyncio.to_thread(renewed.wait)
            return seen

        counter.sessions._missed = looking
        before = beat(queue, lease.id)
        relay.target, relay.away = ("127.0.0.1", two.port), True
        relay.cut_all()
        assert looked.wait(PATIENCE)
        relay.away = False
        until(lambda: beat(queue, lease.id) > before + 0.2, "the renewal")
        renewed.set()
        until(lambda: counter.desk.ties.of(name), equals=[])
        assert one.logged == []
        lease.complete("kept")
        found = queue.detail(lease.id)
    assert (found.task.epoch, found.task.deaths, found.result) == (1, 0, "kept")
