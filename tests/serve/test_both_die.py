"""Workers and their daemon: who holds what, and what becomes of it when both die, or only one, or there are two."""

import asyncio
import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dibs
from children import environment
from dibs.serve import sessions
from dibs.serve.journals import Journals
from serve.daemon import TOKEN, Daemon
from serve.process import PROGRAM, Process
from serve.test_journal import crash
from serve.test_sessions import hold
from waiting import PATIENCE, until


@pytest.fixture
def serving(quick_folder: Path) -> Iterator[Process]:
    process = Process(quick_folder, f"file:{quick_folder}/q?sync=off")
    yield process
    process.kill()


def test_of_two_workers_the_one_that_died_with_the_daemon_gives_back(serving: Process, quick_folder: Path) -> None:
    with dibs.open(serving.url("q")) as queue:
        queue.push_many([1, 2])
        mine = queue.claim(ttl=600)
        assert mine is not None
        holder = hold(serving.url("q"))
        journal = next((quick_folder / "q" / "workers").glob("*.claims"))
        until(lambda: journal.read_text().count('["@"'), equals=2)
        os.kill(holder.pid, signal.SIGKILL)
        serving.kill()
        holder.communicate()
        serving.start()
        other = queue.claim(ttl=600, wait=50)
        assert other is not None
        assert (other.epoch, other.task.deaths, other.id != mine.id) == (2, 1, True)
        assert queue.claim(wait=1.0) is None  # what is mine would have been given back at the same moment
        mine.renew()
        mine.complete("kept")
        assert queue.detail(mine.id).task.epoch == 1


def test_who_holds_what_is_said_alike_on_the_files_and_through_the_daemon(serving: Process, quick_folder: Path) -> None:
    place = f"file:{quick_folder}/q?sync=off"
    via = f"{os.uname().nodename.lower()}:{serving.told['url'].rpartition(':')[2]}"
    with dibs.open(serving.url("q")) as queue, dibs.open(place) as direct:
        queue.push_many([1, 2])
        lease, own = queue.claim(ttl=600), direct.claim(ttl=600)
        assert lease is not None
        assert own is not None
        for look in (queue, direct):
            claims = {claim.id: claim for claim in look.claimed()}
            assert (claims[lease.id].worker, claims[lease.id].pid) == (lease.worker, os.getpid())
            assert str(claims[lease.id].via).endswith(via.rpartition(":")[2])
            assert (claims[own.id].worker, claims[own.id].via) == (own.worker, None)
            claim = look.detail(lease.id).claim
            assert claim is not None
            assert (claim.worker, claim.via) == (lease.worker, claims[lease.id].via)
            assert f"{lease.worker} on " in look.why(lease.id).text
            assert " via " in look.why(lease.id).text
        for url in (place, serving.url("q")):
            words = [PROGRAM, "claimed", url]
            shown = subprocess.run(words, capture_output=True, text=True, env=environment(), check=True).stdout
            header, *rows = shown.splitlines()
            assert header.split()[-1] == "VIA"
            assert [lease.worker in row for row in sorted(rows, key=lambda row: lease.id not in row)] == [True, False]
            lines = subprocess.run([*words, "--json"], capture_output=True, text=True, env=environment(), check=True)
            records = {one["id"]: one for one in map(json.loads, lines.stdout.splitlines())}
            assert records[lease.id]["worker"] == lease.worker
            assert records[own.id]["via"] is None
        serving.kill()
        assert {claim.worker for claim in direct.claimed()} == {lease.worker, own.worker}
        serving.start()
        assert {claim.worker for claim in queue.claimed()} == {lease.worker, own.worker}


@pytest.fixture
def pair(folder: str) -> Iterator[tuple[Daemon, Daemon]]:
    daemons = [
        Daemon(lambda: dibs.open(folder, pid=None), grace=0.0, journals=Journals(name, name)) for name in ("one", "two")
    ]
    yield daemons[0], daemons[1]
    for daemon in daemons:
        daemon.stop()


def stream(daemon: Daemon, session: str) -> Callable[[], None]:
    """Hold a session open; what ends it."""
    with dibs.open(daemon.url) as queue:
        own, answer = queue._connections.stream(f"/session?worker={session}", 30.0)  # type: ignore[attr-defined]
    answer.readline()

    def end() -> None:
        answer.close()
        own.close()

    return end


def test_a_session_that_lives_on_another_daemon_is_not_given_back(pair: tuple[Daemon, Daemon]) -> None:
    one, two = pair
    counter = one.house.counters["q"]
    buried: list[bool] = []
    bury = counter.sessions._bury

    async def burying(session: str, seen: Any) -> bool:
        buried.append(await bury(session, seen))
        return buried[-1]

    counter.sessions._bury = burying
    with dibs.open(one.url) as queue:
        queue.push(1)
        there = stream(two, "w")
        stream(one, "w")()
        until(lambda: buried, equals=[False])
        post = queue._connections.post  # type: ignore[attr-defined]
        lease = post("/claim", {"ttl": 600, "session": "w"})["leases"][0]
        end = stream(one, "w")
        end()
        until(lambda: buried, equals=[False, False])
        assert queue.claim() is None
        assert counter.desk.ties.of("w") == []
        counter.desk.ties.tie([(lease["id"], 1)], "w")
        end = stream(one, "w")
        there()
        until(lambda: not two.house.counters["q"].sessions.here("w"))
        end()
        again = queue.claim(ttl=600, wait=50)
        assert again is not None
        assert again.epoch == 2


def test_after_a_restart_only_who_was_connected_is_missed(
    folder: str, start: Callable[..., Daemon], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker whose session is another daemon's is none of ours, though it claims through us."""
    monkeypatch.setattr(sessions, "RETURN_SECONDS", 0.3)
    journals = Journals("here", "here:1")
    first = start(grace=0.1, journals=journals)
    with dibs.open(first.url) as queue:
        queue.push_many([1, 2])
        post = queue._connections.post  # type: ignore[attr-defined]
        ours, theirs = (post("/claim", {"ttl": 600, "session": name})["leases"][0] for name in ("seen", "unseen"))
        end = stream(first, "seen")
    first.stop()
    end()
    second = start(grace=0.1, journals=journals)
    with dibs.open(second.url) as queue:
        again = queue.claim(ttl=600, wait=50)
        assert again is not None
        assert (again.id, again.epoch) == (ours["id"], 2)
        assert queue.claim(wait=0.5) is None
        assert {claim.worker for claim in queue.claimed()} == {"unseen", again.worker}
        assert queue.detail(theirs["id"]).task.epoch == 1


def test_who_had_finished_and_left_before_a_crash_is_not_missed(
    folder: str, start: Callable[..., Daemon], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last ends are noted with the next claim, so after a crash the journal may know of claims that are over."""
    over = threading.Event()
    bury = sessions.Sessions._bury_later

    async def burying(self: sessions.Sessions, *given: Any) -> None:
        await bury(self, *given)
        over.set()

    monkeypatch.setattr(sessions, "RETURN_SECONDS", 0.1)
    monkeypatch.setattr(sessions.Sessions, "_bury_later", burying)
    journals = Journals("here", "here:1")
    first = start(grace=0.1, journals=journals)
    with dibs.open(first.url) as queue:
        queue.push(1)
        lease = queue.claim()
        assert lease is not None
        lease.complete()
    journal = first.house.counters["q"]._journal
    assert journal is not None
    crash(journal)
    first.stop()
    second = start(grace=0.1, journals=journals)
    assert over.wait(PATIENCE)
    assert second.logged == []


def test_on_a_queue_without_files_it_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick_folder: Path
) -> None:
    seen = threading.Event()
    bury = sessions.Sessions._bury_later

    async def burying(self: sessions.Sessions, *given: Any) -> None:
        await asyncio.to_thread(seen.wait)
        await bury(self, *given)

    monkeypatch.setattr(sessions, "RETURN_SECONDS", 0.1)
    monkeypatch.setattr(sessions.Sessions, "_bury_later", burying)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    url, journals = f"lmdb:{quick_folder}/l?sync=off", Journals("here", "here:1")
    first = Daemon(lambda: dibs.open(url, pid=None), journals=journals)
    with dibs.open(first.url) as queue:
        queue.push(1)
        post = queue._connections.post  # type: ignore[attr-defined]
        assert post("/claim", {"ttl": 600, "session": "w"})["leases"]
        end = stream(first, "w")
        assert [claim.worker for claim in queue.claimed()] == ["w"]
    first.stop()
    end()
    second = Daemon(lambda: dibs.open(url, pid=None), grace=0.1, journals=journals)
    try:
        with dibs.open(f"http://127.0.0.1:{second.port}/q?token={TOKEN}") as queue:
            assert [claim.worker for claim in queue.claimed()] == ["w"]
            seen.set()
            again = queue.claim(ttl=600, wait=50)
            assert again is not None
            assert (again.epoch, again.task.deaths) == (2, 1)
    finally:
        seen.set()
        second.stop()


def test_workers_are_those_who_hold_something(serving: Process, quick_folder: Path) -> None:
    """The daemon is none of them, and it holds for each of its own."""
    place = f"file:{quick_folder}/q?sync=off"
    with dibs.open(place) as direct, dibs.open(serving.url("q")) as first, dibs.open(serving.url("q")) as second:
        assert (direct.stats().workers, first.stats().workers) == (0, 0)
        first.push_many(range(5))
        held = [first.claim(ttl=600), first.claim(ttl=600), second.claim(ttl=600)]
        assert (direct.stats().workers, first.stats().workers) == (2, 2)
        own = direct.claim(ttl=600)
        assert (direct.stats().workers, first.stats().workers) == (3, 3)
        for lease in (*held, own):
            assert lease is not None
            lease.complete()
        assert (direct.stats().workers, first.stats().workers) == (0, 0)
