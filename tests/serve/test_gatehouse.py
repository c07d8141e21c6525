"""Who may come in, and what is refused."""

import http.client
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

import dibs
from dibs.errors import BadInput, StorageError
from dibs.queues.remote import wire
from dibs.serve import tokens
from dibs.serve.running import listen_unix, split_listen
from serve.conftest import Ask
from serve.daemon import READ_TOKEN, TOKEN, Daemon
from waiting import PATIENCE

STATS = "/v1/queues/q/stats"


@pytest.mark.parametrize("given", [None, "", "Bearer", "Bearer wrong", "Basic YTpi", "bearer  ", "Bearer ü"])
def test_without_the_token_nothing_is_told(ask: Ask, given: str | None) -> None:
    for path in (STATS, "/v1/queues", "/v1/openapi.json", "/nowhere"):
        answer = ask("GET", path, Authorization=given)
        assert (answer.status, answer.kind) == (401, "unauthorized")
        assert "DIBS_TOKEN" in answer.json["error"]["message"]


def test_a_token_that_may_only_look_changes_nothing(ask: Ask) -> None:
    given = f"Bearer {READ_TOKEN}"
    assert ask("GET", STATS, Authorization=given).status == 200
    refused = ask("POST", "/v1/queues/q/tasks", {"tasks": [{"payload": 1}]}, Authorization=given)
    assert (refused.status, refused.kind) == (403, "forbidden")
    assert ask("GET", STATS).json["total"] == 0


def test_each_request_of_a_connection_shows_who_asks(daemon: Daemon) -> None:
    """What was found out about one request counts for no other."""
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=PATIENCE)

    def status(path: str, token: str | None, method: str = "GET", host: str = "localhost") -> int:
        headers = {"Host": host, **({"Authorization": f"Bearer {token}"} if token else {})}
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status

    for token, expected in ((TOKEN, 200), ("wrong", 401), (TOKEN, 200), (None, 401), (READ_TOKEN, 200)):
        assert status(STATS, token) == expected
    assert status("/v1/queues/q/pause", READ_TOKEN, "POST") == 403
    assert status("/healthz", None) == 200
    assert status(STATS, None) == 401
    assert status("/healthz", None, host="evil.example") == 403
    assert status(STATS, TOKEN, host="evil.example") == 403
    assert status(STATS, TOKEN) == 200
    connection.close()


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8750", "127.0.0.1.evil.example", "", "192.168.1.7"])
def test_another_host_is_refused(ask: Ask, host: str) -> None:
    assert ask("GET", STATS, Host=host).status == 403


@pytest.mark.parametrize("host", ["localhost", "localhost:1", "127.0.0.1:8750", "[::1]:8750", "[::1]"])
def test_this_host_by_any_of_its_names(ask: Ask, host: str) -> None:
    assert ask("GET", STATS, Host=host).status == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost.evil.example", ""])
def test_a_post_from_another_site_is_refused(ask: Ask, origin: str) -> None:
    refused = ask("POST", "/v1/queues/q/pause", {}, Host="localhost:8750", Origin=origin)
    assert refused.status == 403
    assert ask("POST", "/v1/queues/q/resume", {}, Host="localhost:8750", Origin="http://localhost:8750").status == 200


def test_a_body_that_is_too_large_is_refused_and_no_one_else_suffers(ask: Ask) -> None:
    refused = ask("POST", "/v1/queues/q/tasks", {"tasks": [{"payload": "x" * 200_000}]})
    assert (refused.status, refused.kind) == (413, "too-large")
    assert ask("GET", STATS).json["total"] == 0


def test_a_client_does_not_begin_to_send_what_is_too_large(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MOST_BYTES", 1000)
    wanted = "the body is larger than 1000 bytes; send less at a time"
    with dibs.open(daemon.url) as queue, pytest.raises(BadInput, match=wanted):
        queue.push("x" * 1000)


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_what_a_form_can_send_is_no_json(ask: Ask, kind: str | None) -> None:
    assert ask("POST", "/v1/queues/q/pause", {}, Content_Type=kind).status == 415


def test_half_open_and_slow_connections_starve_nobody(start: Callable[..., Daemon]) -> None:
    daemon = start(gate_body_seconds=0.3)
    idle = [socket.create_connection(("127.0.0.1", daemon.port)) for _ in range(100)]
    slow = socket.create_connection(("127.0.0.1", daemon.port))
    head = "POST /v1/queues/q/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
    slow.sendall(f"{head}Content-Type: application/json\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
    with dibs.open(daemon.url) as queue:
        queue.push(1)
        assert queue.claim() is not None
    answer = b"".join(iter(lambda: slow.recv(4096), b""))  # and it hangs up
    assert b"408" in answer
    assert b"did not arrive" in answer
    for one in (*idle, slow):
        one.close()


def test_tokens_are_made_once_for_their_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "token"
    first = tokens.load(str(path))
    assert path.stat().st_mode & 0o777 == 0o600
    assert tokens.load(str(path)) == first
    assert (first.allows(first.full[0]), first.allows(first.read[0])) == ("write", "read")
    assert first.allows("") is None
    path.chmod(0o644)
    with pytest.raises(BadInput, match="chmod 600"):
        tokens.load(str(path))


def test_a_socket_is_for_its_owner_and_a_dead_one_is_replaced(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    listening = listen_unix(path)
    assert os.stat(path).st_mode & 0o777 == 0o600
    with pytest.raises(StorageError, match="socket"):
        listen_unix(path)
    listening.close()
    listen_unix(path).close()


def test_addresses() -> None:
    assert split_listen("0.0.0.0:80") == ("0.0.0.0", 80)
    assert split_listen("[::1]:9") == ("::1", 9)
    assert split_listen("myhost") == ("myhost", 8750)
    with pytest.raises(BadInput, match="HOST:PORT"):
        split_listen("a:b")


def test_a_client_with_a_wrong_token_says_what_to_do_and_no_secret(daemon: Daemon) -> None:
    with pytest.raises(StorageError, match="DIBS_TOKEN") as refusal:
        dibs.open(f"http://127.0.0.1:{daemon.port}/q?token=hunter2hunter2")
    assert "hunter2" not in str(refusal.value)
    with dibs.open(daemon.url) as queue:
        assert "a-token" not in repr(queue) + queue.address
