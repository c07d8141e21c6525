"""What the proxy's faults look like to obstore, before a real server: the facts that the object store relies on."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from obstore.exceptions import AlreadyExistsError, GenericError

from servers.faults import WRITES, Fault, Faults, Rule
from servers.proxy import FaultProxy
from servers.server import Server
from waiting import until


@pytest.fixture
def proxy(seaweed: Server) -> Iterator[FaultProxy]:
    with FaultProxy(seaweed.endpoint) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def bucket(seaweed: Server) -> str:
    return seaweed.bucket()


@pytest.fixture
def direct(seaweed: Server, bucket: str) -> Any:
    return seaweed.store(bucket)


@pytest.fixture
def store(seaweed: Server, bucket: str, proxy: FaultProxy) -> Any:
    return seaweed.store(bucket, endpoint=proxy.endpoint, timeout_seconds=20)


@pytest.fixture
def key(request: pytest.FixtureRequest) -> str:
    return f"{request.node.name}/key"


def value(store: Any, key: str) -> bytes | None:
    try:
        return bytes(store.get(key).bytes())
    except FileNotFoundError:
        return None


def test_all_kinds_pass_with_their_signatures(proxy: FaultProxy, store: Any, key: str) -> None:
    first = store.put(key, b"1", mode="create")
    store.put(key, b"2", mode={"e_tag": first["e_tag"]})
    assert value(store, key) == b"2"
    store.head(key)
    assert [found["path"] for found in store.list(key.split("/")[0]).collect()] == [key]
    store.delete(key)
    assert value(store, key) is None
    assert proxy.seen == {"create": 1, "replace": 1, "get": 2, "head": 1, "list": 1, "delete": 1}


def test_a_body_of_16_mb(store: Any, direct: Any, key: str) -> None:
    body = b"0123456789abcdef" * (1 << 20)
    store.put(key, body, mode="create")
    assert value(store, key) == body
    direct.delete(key)


@pytest.mark.parametrize(
    ("fault", "error", "text", "written"),
    [
        (Fault.LOST, GenericError, "error sending request", True),
        (Fault.ERROR, GenericError, "status code: 500", False),
        (Fault.ERROR_LATE, GenericError, "status code: 500", True),
        (Fault.SLOW_DOWN, GenericError, "status code: 503", False),
        (Fault.CONFLICT, AlreadyExistsError, "status code: 409", False),
        (Fault.RESET, GenericError, "error sending request", False),
        (Fault.TWICE, AlreadyExistsError, "status code: 412", True),
    ],
)
def test_create(
    proxy: FaultProxy, store: Any, direct: Any, key: str, fault: Fault, error: type, text: str, written: bool
) -> None:
    proxy.faults.add(Rule(fault, ("create",)))
    with pytest.raises(error, match=text):
        store.put(key, b"1", mode="create")
    assert proxy.seen == {"create": 1}, "the driver does not try again by itself"
    assert value(direct, key) == (b"1" if written else None)


def test_a_stalled_create_lands_after_another_has_won(
    seaweed: Server, bucket: str, proxy: FaultProxy, direct: Any, key: str
) -> None:
    proxy.faults.stall_seconds = 3.0
    proxy.faults.add(Rule(Fault.STALL, ("create",)))
    impatient = seaweed.store(bucket, endpoint=proxy.endpoint, timeout_seconds=0.1)
    with pytest.raises(GenericError, match="Timeout"):
        impatient.put(key, b"late", mode="create")
    direct.put(key, b"first", mode="create")
    until(lambda: proxy.passed["create"], equals=1)
    assert value(direct, key) == b"first"


def test_a_network_that_is_away(proxy: FaultProxy, store: Any, key: str) -> None:
    store.put(key, b"1")
    proxy.cut()
    with pytest.raises(GenericError, match="error sending request"):  # by a new connection, or one that was open
        store.get(key)
    proxy.mend()
    assert value(store, key) == b"1"


def test_a_storm_loses_no_answered_write(
    seaweed: Server, bucket: str, proxy: FaultProxy, store: Any, direct: Any, key: str
) -> None:
    """400 creates of 200 keys by 8 threads: each key has one value, and it is one whose create was not refused."""
    all_faults = dict.fromkeys(Fault, 0.03)
    proxy.faults = Faults(chances=all_faults, seed=7, stall_seconds=0.05)

    def create(number: int) -> str:
        try:
            store.put(f"{key}/{number % 200:03}", b"%d" % number, mode="create")
        except AlreadyExistsError:
            return "refused"
        except GenericError:
            return "unsure"
        return "won"

    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(create, range(400)))
    for number in range(200):
        found = value(direct, f"{key}/{number:03}")
        won = [each for each in (number, number + 200) if said[each] == "won"]
        assert len(won) <= 1
        assert not won or found == b"%d" % won[0]
    assert {Fault.LOST, Fault.ERROR, Fault.TWICE, Fault.RESET} <= set(proxy.done)
    assert sum(proxy.seen[kind] for kind in WRITES) == 400
