"""What a client understands of an answer, whoever stands between: chunks, closings, answers that break off."""

import http.client
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from dibs.queues.remote.address import parse
from dibs.queues.remote.line import Line

Speaking = Callable[[bytes], Line]
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
def speaking() -> Iterator[Speaking]:
    """A server that says what it is told to, whatever it hears, and hangs up."""
    listening = socket.create_server(("127.0.0.1", 0))

    def start(answer: bytes) -> Line:
        def serve() -> None:
            own, _ = listening.accept()
            with own:
                own.recv(65536)
                own.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        return Line(parse(f"http://127.0.0.1:{listening.getsockname()[1]}/q", {}), 30)

    yield start
    listening.close()


@pytest.mark.parametrize(
    ("answer", "status", "body", "keeps"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", 200, b"{}", True),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nConnection: close\r\n\r\n{}", 200, b"{}", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", 200, b"{}", False),
        (b"HTTP/1.1 200 OK\r\n\r\n{}", 200, b"{}", False),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", 404, b"", True),
        (CHUNKED + b"1\r\n{\r\n1;x=y\r\n}\r\n0\r\nT: 1\r\n\r\n", 200, b"{}", True),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b"", True),
    ],
)  # fmt: skip
def test_answers(speaking: Speaking, answer: bytes, status: int, body: bytes, keeps: bool) -> None:
    line = speaking(answer)
    found = line.exchange(b"GET / HTTP/1.1\r\n\r\n")
    assert (found.status, found.body, found.retry_after, line.keeps) == (status, body, None, keeps)
    line.close()


def test_when_to_ask_again(speaking: Speaking) -> None:
    line = speaking(b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n")
    assert line.exchange(b"GET / HTTP/1.1\r\n\r\n").retry_after == 7
    line.close()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}",
        b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 300,
    ],
)
def test_what_breaks_off_or_is_no_http_is_a_lost_answer(speaking: Speaking, answer: bytes) -> None:
    line = speaking(answer)
    with pytest.raises((http.client.HTTPException, OSError)):
        line.exchange(b"GET / HTTP/1.1\r\n\r\n")
    line.close()
