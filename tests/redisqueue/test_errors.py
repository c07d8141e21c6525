"""What goes wrong on the way is said in one line, with what to do, and never with a password."""

import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from redis import Redis

import dibs
from dibs.errors import BadInput, FormatError, StorageError
from dibs.queues.queue import Queue
from dibs.queues.redis.root import FORMAT
from redisqueue.own_server import OwnServer
from servers import ports

SECRET = "s3cr3t-pa:ss"
ESCAPED = "s3cr3t-pa%3Ass"


def line(error: pytest.ExceptionInfo[BaseException]) -> str:
    text = str(error.value)
    assert "\n" not in text
    assert SECRET not in text
    assert ESCAPED not in text
    return text


@pytest.fixture
def guarded(own_server: Callable[..., OwnServer]) -> OwnServer:
    return own_server("--save", "", "--appendonly", "no", "--requirepass", SECRET)


def test_a_password_lets_in(guarded: OwnServer) -> None:
    with dibs.open(guarded.url(user=f":{ESCAPED}@")) as queue:
        assert queue.push(1).id
        assert SECRET not in repr(queue)
        assert ESCAPED not in repr(queue)
        assert ESCAPED not in queue.address


@pytest.mark.parametrize("user", ["", ":wrong@", "nobody:wrong@", f":x{ESCAPED}@"])
def test_a_wrong_password_is_said(guarded: OwnServer, user: str) -> None:
    with pytest.raises(StorageError, match="password") as error:
        dibs.open(guarded.url(user=user))
    assert "wrong" not in line(error)


def test_a_password_that_is_changed_meanwhile(guarded: OwnServer) -> None:
    with dibs.open(guarded.url(user=f":{ESCAPED}@")) as queue:
        with Redis(port=guarded.port, password=SECRET) as client:
            client.config_set("requirepass", "another")
            client.client_kill_filter(_type="normal", skipme=True)
        with pytest.raises(StorageError, match="password") as error:
            queue.push(1)
        line(error)


def test_a_user_who_may_not(guarded: OwnServer) -> None:
    with Redis(port=guarded.port, password=SECRET) as client:
        client.acl_setuser("reader", enabled=True, passwords=["+pw"], commands=["+get", "+info"], keys=["*"])
    with pytest.raises(StorageError, match="permission") as error:
        dibs.open(guarded.url(user="reader:pw@"))
    line(error)


def test_a_user_who_may_not_listen_looks_more_often(guarded: OwnServer) -> None:
    with Redis(port=guarded.port, password=SECRET) as client:
        client.acl_setuser("deaf", enabled=True, passwords=["+pw"], commands=["+@all"], keys=["*"], reset_channels=True)
    with dibs.open(guarded.url(user="deaf:pw@")) as queue:
        assert queue.claim(wait=0.3) is None
        assert queue._wake.deaf  # type: ignore[attr-defined]
        queue.push(1)
        assert queue.claim() is not None


def test_nobody_there_is_said_at_once() -> None:
    with pytest.raises(StorageError, match=r"cannot be reached at 127\.0\.0\.1:\d+/0") as error:
        dibs.open(f"redis://:{ESCAPED}@127.0.0.1:{ports.free()}/0")
    line(error)


def test_no_such_host() -> None:
    with pytest.raises(StorageError, match="cannot be reached") as error:
        dibs.open("redis://no-such-host.invalid/0")
    line(error)


@contextmanager
def pretending(version: str) -> Iterator[int]:
    """A server that only says who it is."""
    said = f"# Server\r\nredis_version:{version}\r\n".encode()

    def serve() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            while data := client.recv(4096):
                many = data.count(b"*")
                client.sendall(b"$%d\r\n%s\r\n" % (len(said), said) if b"INFO\r\n" in data else b"+OK\r\n" * many)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("version", ["2.8.19", "5.0.14", "6.0.16"])
def test_a_server_that_is_too_old(version: str) -> None:
    with pretending(version) as port, pytest.raises(FormatError, match=rf"{version}.*6\.2") as error:
        dibs.open(f"redis://127.0.0.1:{port}/0")
    line(error)


@pytest.mark.parametrize(("other", "remedy"), [(FORMAT + 1, "upgrade"), (FORMAT - 1, "move its tasks")])
def test_a_queue_of_another_version(url: str, queue: Queue, other: int, remedy: str) -> None:
    base = queue._server.address.base  # type: ignore[attr-defined]
    with Redis.from_url(url.partition("?")[0]) as client:
        client.hset(f"{base}:meta", "format", other)
    with pytest.raises(FormatError, match=rf"format {other}.*{remedy}") as error:
        dibs.open(url)
    line(error)


def test_a_queue_that_is_not_there(url: str) -> None:
    with pytest.raises(FormatError, match="no queue"):
        dibs.open(url, create=False)
    dibs.open(url).close()
    dibs.open(url, create=False).close()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("redis://localhost/first", "database 'first'"),
        ("redis://localhost:port/0", "not a URL"),
        ("redis://localhost/0?colour=red", "colour"),
        ("redis://localhost/0?timeout=soon", "timeout=soon"),
        ("redis://localhost/0?idle=-1", "idle=-1"),
        ("redis://localhost/0?retention=nan", "retention=nan"),
    ],
)
def test_a_url_that_is_none(url: str, words: str) -> None:
    with pytest.raises(BadInput, match=words) as error:
        dibs.open(url.replace("localhost", f":{ESCAPED}@localhost"))
    line(error)


def test_a_server_without_memory_says_so_and_takes_nothing(own_server: Callable[..., OwnServer]) -> None:
    server = own_server("--save", "", "--appendonly", "no")
    with dibs.open(server.url()) as queue, Redis(port=server.port) as client:
        queue.push(1)
        client.config_set("maxmemory", "1mb")
        client.config_set("maxmemory-policy", "noeviction")
        with pytest.raises(StorageError, match="out of memory") as error:
            queue.push("x" * 100_000)
        line(error)
        client.config_set("maxmemory", "0")
        assert queue.stats().states["ready"] == 1


def test_a_replica_says_what_it_is(own_server: Callable[..., OwnServer], url: str) -> None:
    server = own_server("--save", "", "--appendonly", "no")
    port = url.partition("?")[0].rpartition(":")[2].partition("/")[0]
    with dibs.open(f"{server.url()}&patience=0") as queue, Redis(port=server.port) as client:
        client.config_set("replica-serve-stale-data", "yes")
        client.replicaof("127.0.0.1", port)
        with pytest.raises(StorageError, match="read-only replica") as error:
            queue.push(1)
        line(error)


def test_without_the_driver_the_way_to_it_is_named() -> None:
    code = (
        "import sys; sys.modules['redis'] = None\n"
        "import dibs\n"
        "try: dibs.open('redis://localhost/0')\n"
        "except dibs.errors.MissingExtra as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import dibs.errors\n{code}"], capture_output=True, text=True, check=True
    )
    assert "pip install 'dibs[redis]'" in done.stdout
    assert done.stdout.count("\n") == 1


def test_warnings_are_one_line_each_and_said_once(own_server: Callable[..., OwnServer]) -> None:
    server = own_server("--save", "", "--appendonly", "no", "--maxmemory-policy", "allkeys-lru")
    code = f"import dibs; [dibs.open({server.url(settings='')!r}).close() for _ in range(2)]"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    said = done.stderr.splitlines()
    assert len(said) == 2
    assert "appendonly" in said[0]
    assert "allkeys-lru" in said[1]


def test_a_good_server_gives_no_warning(own_server: Callable[..., OwnServer]) -> None:
    server = own_server("--save", "", "--appendonly", "yes", "--maxmemory-policy", "volatile-lru")
    code = f"import dibs\nwith dibs.open({server.url(settings='')!r}) as queue: queue.push(1)"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
