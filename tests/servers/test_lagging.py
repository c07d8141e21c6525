"""Listings that lag: by seconds, for what was made and for what was deleted, wherever the listing starts."""

import http.client
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from servers.faults import Fault, Faults, Rule
from servers.proxy import FaultProxy
from servers.server import Server
from waiting import PATIENCE

ALWAYS = 1000


@pytest.fixture(params=["seaweed", "moto"])
def server(request: pytest.FixtureRequest) -> Server:
    found: Server = request.getfixturevalue(request.param)
    return found


class Hand:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Hand:
    return Hand()


@pytest.fixture
def proxy(server: Server, clock: Hand) -> Iterator[FaultProxy]:
    with FaultProxy(server.endpoint, clock=clock) as proxy:
        yield proxy


@pytest.fixture
def bucket(server: Server) -> str:
    return server.bucket()


@pytest.fixture
def store(server: Server, bucket: str, proxy: FaultProxy) -> Any:
    return server.store(bucket, endpoint=proxy.endpoint)


def lag(proxy: FaultProxy, seconds: float) -> None:
    proxy.faults = Faults(Rule(Fault.LAG, ("list",), times=ALWAYS), lag_seconds=seconds)


def names(store: Any, offset: str | None = None) -> list[str]:
    return [found["path"] for found in store.list("a", offset=offset).collect()]


def test_what_was_made_since_is_not_there_yet(
    server: Server, bucket: str, proxy: FaultProxy, store: Any, clock: Hand
) -> None:
    server.store(bucket).put("a/0", b"not through the proxy")
    store.put("a/1 é&<", b"1", mode="create")
    clock.now += 60
    store.put("a/2", b"2", mode="create")
    store.put("a/1 é&<", b"again")
    everything = ["a/0", "a/1 é&<", "a/2"]
    assert names(store) == everything
    lag(proxy, 30)
    assert names(store) == everything[:2]
    assert names(store, offset="a/0") == everything[1:2]
    lag(proxy, 90)
    assert names(store) == everything[:1]
    clock.now += 1
    lag(proxy, 1)
    assert names(store) == everything


def test_what_was_deleted_since_is_still_there(proxy: FaultProxy, store: Any, clock: Hand) -> None:
    written = {}
    for key in ("a/1", "a/2 é&<", "a/3", "b/1"):
        written[key] = store.put(key, key.encode(), mode="create")
    clock.now += 60
    store.delete("a/2 é&<")
    store.delete(["a/3", "b/1", "a/never"])
    assert names(store) == ["a/1"]
    lag(proxy, 30)
    assert names(store) == ["a/1", "a/2 é&<", "a/3"]
    assert names(store, offset="a/2 é&<") == ["a/3"]
    ghost = store.list("a").collect()[1]
    assert (ghost["e_tag"], ghost["size"]) == (written["a/2 é&<"]["e_tag"], len("a/2 é&<".encode()))
    with pytest.raises(FileNotFoundError):
        store.get("a/2 é&<")
    clock.now += 60
    assert names(store) == ["a/1"]


def test_an_empty_listing_gets_its_ghosts_and_loses_its_news(proxy: FaultProxy, store: Any, clock: Hand) -> None:
    store.put("a/1", b"1", mode="create")
    clock.now += 60
    store.delete("a/1")
    store.put("a/1", b"again", mode="create")
    lag(proxy, 30)
    assert names(store) == [], "it was made anew: its earlier life is forgotten"
    store.delete("a/1")
    assert names(store) == []


def test_folders_and_pages(bucket: str, proxy: FaultProxy, store: Any, server: Server, clock: Hand) -> None:
    for key in ("a/1", "a/2", "a/3", "a/4", "a/sub/1"):
        store.put(key, b"1", mode="create")
    clock.now += 60
    store.delete(["a/2", "a/4", "a/sub/1"])
    store.put("a/5", b"1", mode="create")
    lag(proxy, 30)
    found = store.list_with_delimiter("a")
    assert [entry["path"] for entry in found["objects"]] == ["a/1", "a/2", "a/3", "a/4"]
    if server.kind == "moto":  # asks for no signature
        connection = http.client.HTTPConnection(urlsplit(proxy.endpoint).netloc, timeout=PATIENCE)
        connection.request("GET", f"/{bucket}?list-type=2&prefix=a/&max-keys=2")
        first = connection.getresponse().read().decode()
        assert "<IsTruncated>true" in first
        assert re.findall("<Key>(.*?)</Key>", first) == ["a/1", "a/2", "a/3"], "a/4 is of the next page"
        assert "<KeyCount>3</KeyCount>" in first
