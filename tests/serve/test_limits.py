"""How fast anybody may ask, and that neither the greedy nor the slow keep others from their work."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress

import pytest

import dibs
from dibs.serve import connection
from dibs.serve.limits import MOST_KNOWN, Limits
from dibs.serve.refusal import Refusal
from dibs.testing import ManualClock
from serve.conftest import Ask
from serve.daemon import TOKEN, Daemon
from waiting import PATIENCE

HALF_OPEN = 300


def test_a_bucket_is_filled_at_the_rate() -> None:
    clock = ManualClock()
    limits = Limits(2.0, clock)
    for _ in range(4):
        limits.take("a")
    with pytest.raises(Refusal) as refusal:
        limits.take("a")
    assert (refusal.value.kind, refusal.value.retry_after) == ("busy", 1)
    limits.take("b")  # another's is its own
    clock.advance(0.5)
    limits.take("a")
    with pytest.raises(Refusal):
        limits.take("a")


def test_what_is_known_of_strangers_is_bounded() -> None:
    limits = Limits(1.0, ManualClock())
    for number in range(MOST_KNOWN + 50):
        limits.take(str(number))
    assert len(limits._buckets) == MOST_KNOWN


def test_who_is_too_fast_is_told_when_to_come_again(start: Callable[..., Daemon]) -> None:
    daemon = start(gate_rate=2.0, gate_clock=ManualClock())
    with socket.create_connection(("127.0.0.1", daemon.port)) as own:
        own.settimeout(PATIENCE)
        answers = []
        for _ in range(5):
            own.sendall(f"GET /v1/queues HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
            answers.append(own.recv(4096))
    assert [b" 200 " in answer for answer in answers] == [True, True, True, True, False]
    assert b" 429 " in answers[4]
    assert b"retry-after: 1\r\n" in answers[4]
    assert daemon.house.metrics.counts["dibs_rate_limited_total"][()] == 1


def test_a_client_waits_and_asks_again(start: Callable[..., Daemon], monkeypatch: pytest.MonkeyPatch) -> None:
    clock, take = ManualClock(), Limits.take

    def then_time_passes(self: Limits, who: str) -> None:
        try:
            take(self, who)
        except Refusal as refusal:
            clock.advance(refusal.retry_after or 0)
            raise

    monkeypatch.setattr(Limits, "take", then_time_passes)
    daemon = start(gate_rate=6.0, gate_clock=clock)
    with dibs.open(daemon.url) as queue:
        queue.push_many(range(8))
        for _ in range(8):
            lease = queue.claim()
            assert lease is not None
            lease.complete()
        assert queue.claim() is None
    assert daemon.house.metrics.counts["dibs_rate_limited_total"][()] > 0


def test_guessing_tokens_is_slow(start: Callable[..., Daemon], ask: Ask) -> None:
    daemon = start(gate_rate=1000.0, gate_clock=ManualClock())
    with socket.create_connection(("127.0.0.1", daemon.port)) as own:
        own.settimeout(PATIENCE)
        said = set()
        for number in range(60):
            head = f"Host: localhost\r\nAuthorization: Bearer wrong-{number}"
            own.sendall(f"GET /v1/queues HTTP/1.1\r\n{head}\r\n\r\n".encode())
            said.add(own.recv(4096)[9:12])
    assert said == {b"401", b"429"}


def test_half_open_connections_starve_no_worker(start: Callable[..., Daemon], monkeypatch: pytest.MonkeyPatch) -> None:
    """Silent ones, ones in the middle of a header, and ones in the middle of a body; a worker goes on meanwhile."""
    monkeypatch.setattr(connection, "HEAD_SECONDS", 1.0)
    daemon = start()
    head = f"POST /v1/queues/q/tasks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
    begun = [b"", head.encode(), f"{head}Content-Type: application/json\r\nContent-Length: 10\r\n\r\n{{".encode()]
    sockets = []
    with dibs.open(daemon.url) as queue:
        queue.push_many(range(30))
        for number in range(HALF_OPEN):
            own = socket.create_connection(("127.0.0.1", daemon.port))
            own.settimeout(PATIENCE)
            own.sendall(begun[number % 3])
            sockets.append(own)
            if number % 10 == 0:
                lease = queue.claim()
                assert lease is not None
                lease.complete()
        assert queue.stats().states["completed"] == 30
        for own in sockets[:2]:
            assert own.recv(1) == b""  # they are hung up on
    for own in sockets:
        own.close()


def test_the_silent_make_room_when_it_is_full(start: Callable[..., Daemon], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dibs.serve.running._most_connections", lambda: 20)
    monkeypatch.setattr(connection, "HEAD_SECONDS", 600.0)
    daemon = start()
    idle = [socket.create_connection(("127.0.0.1", daemon.port)) for _ in range(40)]
    with dibs.open(daemon.url) as queue:
        assert queue.stats().total == 0
    with suppress(ConnectionResetError):
        idle[0].settimeout(PATIENCE)
        assert idle[0].recv(1) == b""
    for own in idle:
        own.close()


def test_who_showed_no_token_makes_room_for_who_did(
    start: Callable[..., Daemon], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Having asked something once, without a token, is no right to stay."""
    monkeypatch.setattr("dibs.serve.running._most_connections", lambda: 20)
    daemon = start()
    kept = asked(daemon, f"GET /v1/queues HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\r\n")
    idle = [asked(daemon, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n") for _ in range(40)]
    with dibs.open(daemon.url) as queue:
        assert queue.stats().total == 0
    kept.sendall(f"GET /v1/queues HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
    assert kept.recv(4096).startswith(b"HTTP/1.1 200")
    with suppress(ConnectionResetError):
        assert idle[0].recv(1) == b""  # it was the first to go
    for own in (kept, *idle):
        own.close()


def asked(daemon: Daemon, request: str) -> socket.socket:
    """A connection that has had its answer and stays open."""
    own = socket.create_connection(("127.0.0.1", daemon.port))
    own.settimeout(PATIENCE)
    own.sendall(request.encode())
    assert own.recv(4096).startswith(b"HTTP/1.1 200")
    return own


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (b"nonsense\r\n\r\n", b"HTTP/1.1 400"),
        (b"GET / HTTP/1.1\r\n" + b"A: " + b"x" * 300_000, b"HTTP/1.1 400"),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", b"HTTP/1.1 200"),
        (b"GET http://localhost/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", b"HTTP/1.1 200"),
        (b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n", b"HTTP/1.1 200"),
        (b"HEAD /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", b"HTTP/1.1 200"),
    ],
)  # fmt: skip
def test_odd_requests_are_answered(daemon: Daemon, sent: bytes, answer: bytes) -> None:
    with socket.create_connection(("127.0.0.1", daemon.port)) as own:
        own.settimeout(PATIENCE)
        sending = threading.Thread(target=lambda: _send(own, sent))
        sending.start()
        assert own.recv(4096).startswith(answer)
        sending.join()


def test_requests_sent_together_are_answered_in_turn(daemon: Daemon) -> None:
    with socket.create_connection(("127.0.0.1", daemon.port)) as own:
        own.settimeout(PATIENCE)
        body = b'{"wait": 0.3}'
        head = f"Host: localhost\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n"
        slow = f"POST /v1/queues/q/claim HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        one = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
        last = b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        own.sendall(slow + one * 20 + last)
        heard = b"".join(iter(lambda: own.recv(65536), b""))
    assert heard.count(b"HTTP/1.1 200") == 21
    assert heard.index(b"leases") < heard.index(b"version")
    assert heard.rindex(b"HTTP/1.1 401") > heard.rindex(b"HTTP/1.1 200")


def test_a_body_may_wait_to_be_asked_for(daemon: Daemon) -> None:
    with socket.create_connection(("127.0.0.1", daemon.port)) as own:
        own.settimeout(PATIENCE)
        body = b'{"tasks": [{"payload": 1}]}'
        head = f"Host: localhost\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n"
        more = f"Content-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n"
        own.sendall(f"POST /v1/queues/q/tasks HTTP/1.1\r\n{head}{more}".encode())
        assert own.recv(4096).startswith(b"HTTP/1.1 100")
        own.sendall(body)
        assert own.recv(4096).startswith(b"HTTP/1.1 200")


def _send(own: socket.socket, data: bytes) -> None:
    try:
        own.sendall(data)
    except OSError:
        pass  # it was hung up on in the middle
