"""A queue behind the daemon that does not answer, at the start or later: the others are served as before, and whoever
asks for it is told soon."""

import http.client
import json
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

import dibs
from children import environment
from dibs.errors import BadInput, StorageError
from dibs.serve import arriving, health, house, readiness, running
from serve.daemon import TOKEN, Daemon
from serve.process import PROGRAM
from servers.redis_proxy import LosingProxy
from servers.server import Server
from waiting import PATIENCE, until

MANY = 20  # more than all threads that a queue may have
Told = tuple[int, str]


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    for where, name in ((house, "LOOK_SECONDS"), (house, "AGAIN_SECONDS"), (running, "_LOOK_SECONDS")):
        monkeypatch.setattr(where, name, 0.2)
    for name in ("LONG_SECONDS", "ANSWER_SECONDS"):  # a busy machine is not taken for one that is away
        monkeypatch.setattr(health, name, 2.0)
    monkeypatch.setattr(arriving, "OPENING_SECONDS", 20.0)
    monkeypatch.setattr(readiness, "FRESH_SECONDS", -1.0)


@pytest.fixture
def proxy(redis_server: Server) -> Iterator[LosingProxy]:
    with LosingProxy(int(redis_server.endpoint.rpartition(":")[2])) as one:
        yield one


@pytest.fixture
def daemon(folder: str, proxy: LosingProxy) -> Iterator[Daemon]:
    """`q` is files, `work` is Redis behind the proxy."""
    one = serving(folder, proxy)
    yield one
    proxy.cut()
    proxy.mend()
    one.stop()


def serving(folder: str, proxy: LosingProxy) -> Daemon:
    work = f"redis://127.0.0.1:{proxy.port}/0?queue=q{uuid4().hex}&warn=off&patience=20"
    return Daemon(lambda: dibs.open(folder, pid=None), others={"work": lambda: dibs.open(work, pid=None)})


def ask(daemon: Daemon, path: str, body: Any = None) -> Told:
    """(status, what it says)."""
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=PATIENCE)
    given = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    connection.request("GET" if body is None else "POST", path, None if body is None else json.dumps(body), given)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def works(daemon: Daemon, name: str) -> None:
    with dibs.open(f"{daemon.url_of(name)}&timeout=60&patience=0") as queue:
        queue.push(name)
        lease = queue.claim()
        assert lease is not None
        lease.complete()
        assert queue.stats().states["completed"] >= 1
        assert queue.detail(lease.id).task.payload == name


def test_it_holds_up_no_other_and_who_asks_for_it_is_told(daemon: Daemon, proxy: LosingProxy) -> None:
    works(daemon, "work")
    proxy.cut()
    with ThreadPoolExecutor(MANY) as many:
        hanging = [many.submit(ask, daemon, "/v1/queues/work/stats") for _ in range(MANY)]
        works(daemon, "q")
        waiting = ask(daemon, "/v1/queues/work/claim", {"wait": 30})
        told = [one.result() for one in hanging] + [waiting, ask(daemon, "/v1/queues/work/time")]
    works(daemon, "q")
    assert {status for status, _ in told} == {503}
    assert all("queue 'work' does not answer: " in text and '"kind":"busy"' in text for _, text in told)
    assert "queue silent queue=work" in str(daemon.logged)
    status, text = ask(daemon, "/readyz")
    assert (status, ": work;" in text) == (503, True)
    status, text = ask(daemon, "/metrics")
    assert 'dibs_queue_up{queue="work"} 0.0' in text
    assert 'dibs_queue_up{queue="q"} 1.0' in text
    proxy.mend()
    until(lambda: ask(daemon, "/readyz")[0], equals=200)
    works(daemon, "work")


def test_a_step_that_hung_is_done_once_and_its_answer_found(daemon: Daemon, proxy: LosingProxy) -> None:
    """The client is told that nobody answers, asks again under the same key, and hears what came of it."""
    with dibs.open(daemon.url_of("work")) as queue:
        queue.push(1)
        lease = queue.claim(ttl=600)
        assert lease is not None
        proxy.cut()
        completing = threading.Thread(target=lease.complete, args=["once"])
        completing.start()
        until(lambda: "queue silent" in str(daemon.logged))
        proxy.mend()
        completing.join(PATIENCE)
        until(lambda: ask(daemon, "/readyz")[0], equals=200)
        assert queue.detail(lease.id).result == "once"
        assert queue.stats().states["completed"] == 1


def test_a_claim_that_waits_is_told_when_nothing_else_is_asked(daemon: Daemon, proxy: LosingProxy) -> None:
    with ThreadPoolExecutor(1) as one:
        waiting = one.submit(ask, daemon, "/v1/queues/work/claim", {"wait": 30})
        until(lambda: len(daemon.house.counters["work"].waiting), equals=1)
        proxy.cut()
        status, text = waiting.result()
    assert (status, "does not answer" in text) == (503, True)


def test_one_that_is_away_at_the_start_comes_later(folder: str, proxy: LosingProxy) -> None:
    proxy.cut()
    daemon = serving(folder, proxy)
    try:
        works(daemon, "q")
        assert json.loads(ask(daemon, "/v1/queues")[1])["queues"] == ["q", "work"]
        status, text = ask(daemon, "/v1/queues/work/stats")
        assert (status, "queue 'work' does not answer: " in text) == (503, True)
        status, text = ask(daemon, "/readyz")
        assert (status, ": work;" in text) == (503, True)
        assert 'dibs_queue_up{queue="work"} 0.0' in ask(daemon, "/metrics")[1]
        assert "queue unavailable queue=work why=" in str(daemon.logged)
        with pytest.raises(StorageError, match="'work' does not answer"):
            dibs.open(f"{daemon.url_of('work')}&patience=0")
        proxy.mend()
        until(lambda: ask(daemon, "/readyz")[0], equals=200)
        works(daemon, "work")
    finally:
        daemon.stop()


@pytest.mark.parametrize("when", ["at the start", "later"])
def test_top_shows_the_others_and_says_what_is_wrong(folder: str, proxy: LosingProxy, when: str) -> None:
    if when == "at the start":
        proxy.cut()
    daemon = serving(folder, proxy)
    try:
        works(daemon, "q")
        proxy.cut()
        words = [PROGRAM, "top", "--json", "--interval", "0.1s", f"http://127.0.0.1:{daemon.port}/?token={TOKEN}"]
        told = subprocess.run(words, capture_output=True, text=True, env=environment(), check=True, timeout=PATIENCE)
        q, work = json.loads(told.stdout)["queues"]
        assert (q["name"], q["error"], q["states"]["completed"]) == ("q", None, 1)
        assert (work["name"], "queue 'work' does not answer: " in work["error"]) == ("work", True)
    finally:
        proxy.cut()
        proxy.mend()
        daemon.stop()


def test_when_none_can_be_reached_it_does_not_start(proxy: LosingProxy) -> None:
    proxy.cut()
    work = f"redis://127.0.0.1:{proxy.port}/0?warn=off"
    with pytest.raises(StorageError):
        Daemon(lambda: dibs.open(work), others={"work": lambda: dibs.open(work)})


def test_what_is_wrong_for_good_is_said_at_the_start(folder: str) -> None:
    def wrong() -> Any:
        raise BadInput("setting 'x' is not known")

    with pytest.raises(BadInput):
        Daemon(lambda: dibs.open(folder), others={"work": wrong})


def test_one_that_hangs_at_the_start_does_not_stop_the_others(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arriving.opened, "__defaults__", (0.2,))
    go_on = threading.Event()

    def slow() -> Any:
        go_on.wait()
        return dibs.open(folder.replace("/q?", "/late?"), pid=None)

    daemon = Daemon(lambda: dibs.open(folder, pid=None), others={"work": slow})
    try:
        works(daemon, "q")
        assert ask(daemon, "/v1/queues/work/stats")[0] == 503
        go_on.set()
        until(lambda: ask(daemon, "/v1/queues/work/stats")[0], equals=200)
    finally:
        go_on.set()
        daemon.stop()
