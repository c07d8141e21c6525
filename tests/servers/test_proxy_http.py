"""What the proxy does to plain HTTP, seen from both of its sides."""

import http.client
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from servers.faults import Fault, Faults, Rule
from servers.proxy import FaultProxy
from servers.recorder import Recorder, recording


@pytest.fixture
def upstream() -> Iterator[Recorder]:
    with recording() as recorder:
        yield recorder


@pytest.fixture
def proxy(upstream: Recorder) -> Iterator[FaultProxy]:
    with FaultProxy(upstream.endpoint) as proxy:
        yield proxy


def connect(proxy: FaultProxy, timeout: float = 30.0) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(urlsplit(proxy.endpoint).netloc, timeout=timeout)


def ask(
    connection: http.client.HTTPConnection, method: str, target: str, body: bytes | None = None, **headers: str
) -> tuple[int, bytes]:
    connection.request(method, target, body, {name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    return answer.status, answer.read()


def test_passes_requests_as_they_are(upstream: Recorder, proxy: FaultProxy) -> None:
    connection = connect(proxy)
    target = "/bucket/a%20b%2Bc%C3%A9?x=%2F&y"
    assert ask(connection, "PUT", target, b"1", Host="bucket.example:99", x_amz_Date="Now") == (200, b"stored")
    seen = upstream.arrived[0]
    assert (seen.method, seen.target, seen.body) == ("PUT", target, b"1")
    assert seen.headers["host"] == "bucket.example:99"
    assert seen.headers["x-amz-date"] == "Now"


def test_keeps_connections_on_both_sides(upstream: Recorder, proxy: FaultProxy) -> None:
    connection = connect(proxy)
    statuses = [
        ask(connection, method, "/b/k", b"1" if method == "PUT" else None)[0] for method in ("PUT", "GET", "HEAD")
    ]
    assert statuses == [200, 200, 200]
    assert ask(connection, "DELETE", "/b/k")[0] == 204
    assert ask(connection, "GET", "/b/none") == (404, b"nothing")
    assert upstream.connections == 1
    assert proxy.seen == {"put": 1, "get": 2, "head": 1, "delete": 1}
    assert not proxy.done


def test_large_bodies_pass_both_ways_in_chunks_too(upstream: Recorder, proxy: FaultProxy) -> None:
    connection = connect(proxy)
    body = bytes(range(256)) * (16 * 4096)
    assert ask(connection, "PUT", "/b/whole", body)[0] == 200
    assert ask(connection, "GET", "/b/whole") == (200, body)
    pieces = (body[start : start + 100_000] for start in range(0, len(body), 100_000))
    connection.request("PUT", "/b/chunks", pieces, encode_chunked=True, headers={"Transfer-Encoding": "chunked"})
    connection.getresponse().read()
    assert upstream.values["/b/chunks"] == body


def test_a_client_that_waits_for_continue_gets_it(upstream: Recorder, proxy: FaultProxy) -> None:
    with socket.create_connection(urlsplit(proxy.endpoint).netloc.split(":"), timeout=30) as client:  # type: ignore[arg-type]
        client.sendall(b"PUT /b/k HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 100 ")
        client.sendall(b"body")
        assert client.recv(1000).startswith(b"HTTP/1.1 200 ")
    assert upstream.values["/b/k"] == b"body"
    assert "expect" not in upstream.arrived[0].headers


def test_lost(upstream: Recorder, proxy: FaultProxy) -> None:
    proxy.faults.add(Rule(Fault.LOST))
    with pytest.raises(http.client.RemoteDisconnected):
        ask(connect(proxy), "PUT", "/b/k", b"1")
    assert upstream.values == {"/b/k": b"1"}
    assert proxy.done == {Fault.LOST: 1}


@pytest.mark.parametrize(
    ("fault", "status", "code", "arrives"),
    [
        (Fault.ERROR, 500, b"<Code>InternalError</Code>", False),
        (Fault.ERROR_LATE, 500, b"<Code>InternalError</Code>", True),
        (Fault.SLOW_DOWN, 503, b"<Code>SlowDown</Code>", False),
        (Fault.CONFLICT, 409, b"<Code>ConditionalRequestConflict</Code>", False),
    ],
)
def test_bad_answers(
    upstream: Recorder, proxy: FaultProxy, fault: Fault, status: int, code: bytes, arrives: bool
) -> None:
    proxy.faults.add(Rule(fault, times=2))
    connection = connect(proxy)
    found, body = ask(connection, "PUT", "/b/k", b"1")
    assert (found, code in body, len(upstream.arrived)) == (status, True, int(arrives))
    assert ask(connection, "HEAD", "/b/k") == (status, b"")
    assert ask(connection, "GET", "/b/k")[0] == (200 if arrives else 404)
    assert proxy.done == {fault: 2}


def test_reset(upstream: Recorder, proxy: FaultProxy) -> None:
    proxy.faults.add(Rule(Fault.RESET))
    with pytest.raises(ConnectionResetError) as caught:
        ask(connect(proxy), "PUT", "/b/k", b"1")
    assert caught.type is ConnectionResetError, "http.client has a kind of its own for a plain end"
    assert upstream.arrived == []


def test_stalled_request_takes_effect_after_its_client_gave_up(upstream: Recorder, proxy: FaultProxy) -> None:
    proxy.faults.stall_seconds = 3.0
    proxy.faults.add(Rule(Fault.STALL, nth=1), Rule(Fault.STALL, ("get",)))
    impatient = connect(proxy, timeout=0.1)
    with pytest.raises(TimeoutError):
        ask(impatient, "PUT", "/b/k", b"late")
    impatient.close()
    assert upstream.arrived == []
    assert ask(connect(proxy), "GET", "/b/k") == (200, b"late")


def test_twice(upstream: Recorder, proxy: FaultProxy) -> None:
    proxy.faults.add(Rule(Fault.TWICE))
    assert ask(connect(proxy), "PUT", "/b/k", b"1") == (200, b"stored")
    assert [seen.body for seen in upstream.arrived] == [b"1", b"1"]


def test_rules_count_only_what_they_match(upstream: Recorder, proxy: FaultProxy) -> None:
    proxy.faults.add(Rule(Fault.ERROR, ("create", "list"), "queues/*/leases/*", nth=2, times=2))
    connection = connect(proxy)
    asked = [
        ("PUT", "/b/queues/q/leases/1", {}),
        ("GET", "/b/queues/q/leases/1", {}),
        ("PUT", "/b/queues/q/leases/1", {"If_None_Match": "*"}),
        ("PUT", "/b/queues/q/tasks/1", {"If_None_Match": "*"}),
        ("PUT", "/b/queues/q/leases/2", {"If_Match": '"e"'}),
        ("GET", "/b?list-type=2&prefix=queues%2Fq%2Fleases%2F", {}),
        ("PUT", "/b/queues/q/leases/3", {"If_None_Match": "*"}),
        ("PUT", "/b/queues/q/leases/4", {"If_None_Match": "*"}),
    ]
    statuses = [ask(connection, method, target, None, **headers)[0] for method, target, headers in asked]
    assert statuses == [200, 200, 200, 200, 200, 500, 500, 200]
    assert proxy.seen == {"put": 1, "get": 1, "create": 4, "replace": 1, "list": 1}


def test_a_seed_repeats_itself_and_calm_ends_it(upstream: Recorder, proxy: FaultProxy) -> None:
    def statuses(seed: int, count: int = 60) -> list[int]:
        chances = {Fault.ERROR: 0.2, Fault.CONFLICT: 0.2, Fault.SLOW_DOWN: 0.2}
        proxy.faults = Faults(chances=chances, seed=seed)
        connection = connect(proxy)
        return [ask(connection, "PUT", "/b/k", b"1")[0] for _ in range(count)]

    first = statuses(1)
    assert statuses(1) == first
    assert statuses(2) != first
    assert set(first) == {200, 500, 503}, "409 is only for conditional writes"
    proxy.faults.calm()
    assert ask(connect(proxy), "GET", "/b/k")[0] == 200


def test_cut_and_mend(upstream: Recorder, proxy: FaultProxy) -> None:
    connection = connect(proxy)
    assert ask(connection, "PUT", "/b/k", b"1")[0] == 200
    proxy.cut()
    with pytest.raises((ConnectionError, http.client.RemoteDisconnected)):
        ask(connection, "GET", "/b/k")
    with pytest.raises(ConnectionRefusedError):
        ask(connect(proxy), "GET", "/b/k")
    proxy.mend()
    assert ask(connect(proxy), "GET", "/b/k") == (200, b"1")


def test_a_server_that_is_away_ends_the_connection() -> None:
    with recording() as recorder:
        endpoint = recorder.endpoint
    with FaultProxy(endpoint) as proxy:
        with pytest.raises((ConnectionError, http.client.RemoteDisconnected)):
            ask(connect(proxy), "GET", "/b/k")
        assert proxy.done == {"broken": 1}
