"""The servers are what the other tests take them for."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, BrokenBarrierError
from typing import Any

import pytest
from obstore.exceptions import AlreadyExistsError, GenericError, PermissionDeniedError, PreconditionError

from servers.moto_server import one_at_a_time
from servers.server import READER, Server


@pytest.fixture(params=["seaweed", "moto"])
def server(request: pytest.FixtureRequest) -> Server:
    found: Server = request.getfixturevalue(request.param)
    return found


def test_of_many_creators_one_wins(server: Server) -> None:
    store = server.store(server.bucket())

    def create(number: int) -> bool:
        try:
            store.put("key", b"%d" % number, mode="create")
        except AlreadyExistsError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(create, range(8)))
    assert won.count(True) == 1
    assert bytes(store.get("key").bytes()) == b"%d" % won.index(True)


def test_of_many_replacers_one_wins(server: Server) -> None:
    store = server.store(server.bucket())
    first = store.put("key", b"first", mode="create")

    def replace(number: int) -> bool:
        try:
            store.put("key", b"%d" % number, mode={"e_tag": first["e_tag"]})
        except PreconditionError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(replace, range(8)))
    assert won.count(True) == 1
    assert bytes(store.get("key").bytes()) == b"%d" % won.index(True)


def test_buckets_are_apart(server: Server) -> None:
    one, other = (server.store(server.bucket()) for _ in range(2))
    one.put("key", b"1")
    assert other.list().collect() == []


def test_there_is_room_for_many_buckets(seaweed: Server) -> None:
    for _ in range(10):
        seaweed.store(seaweed.bucket()).put("key", b"1")


def test_seaweed_asks_for_the_right_key(seaweed: Server) -> None:
    bucket = seaweed.bucket()
    seaweed.store(bucket).put("key", b"1")
    wrong = Server(seaweed.kind, seaweed.endpoint, secret_key="wrong").store(bucket)
    with pytest.raises(PermissionDeniedError, match="SignatureDoesNotMatch"):
        wrong.get("key")
    reader = Server(seaweed.kind, seaweed.endpoint, access_key=READER[0], secret_key=READER[1]).store(bucket)
    assert bytes(reader.get("key").bytes()) == b"1"
    with pytest.raises(PermissionDeniedError, match="AccessDenied"):
        reader.put("key", b"2")


def test_a_missing_bucket_is_not_made(server: Server) -> None:
    store = server.store("no-such-bucket")
    with pytest.raises((PermissionDeniedError, FileNotFoundError)):
        store.put("key", b"1", mode="create")
    with pytest.raises(GenericError, match="NoSuchBucket"):
        store.list().collect()


def test_rclone_ignores_conditions(rclone: Server) -> None:
    store = rclone.store(rclone.bucket())
    store.put("key", b"1", mode="create")
    store.put("key", b"2", mode="create")
    assert bytes(store.get("key").bytes()) == b"2"
    store.put("key", b"3", mode={"e_tag": '"0123456789abcdef0123456789abcdef"'})
    assert bytes(store.get("key").bytes()) == b"3"


@pytest.mark.parametrize(
    ("method", "query", "together"),
    [("GET", "", True), ("POST", "", True), ("PUT", "", False), ("DELETE", "", False), ("POST", "delete", False)],
)
def test_moto_takes_writes_one_at_a_time(method: str, query: str, together: bool) -> None:
    both_inside = Barrier(2)

    def app(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        try:
            both_inside.wait(timeout=10 if together else 0.1)
        except BrokenBarrierError:
            return [b"alone"]
        return [b"together"]

    locked = one_at_a_time(app)
    environ = {"REQUEST_METHOD": method, "QUERY_STRING": query}
    with ThreadPoolExecutor(2) as pool:
        said = [list(each) for each in pool.map(lambda _: locked(environ, None), range(2))]
    assert said == [[b"together" if together else b"alone"]] * 2
