"""Many connections, several queues in one database, and names that try to reach out of theirs."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote
from uuid import uuid4

import pytest
from redis import Redis

import dibs
from dibs.errors import BadInput
from dibs.queues.queue import Queue
from servers.server import Server

CONNECTIONS = 64
HOSTILE = [
    "a}b",
    "{a}",
    "a:b",
    "}:task:",
    "a b",
    "*",
    "?[a]",
    "\r\nFLUSHALL\r\n",
    "a\x00b",
    "é🦀",
    "%7D",
    "..",
    "'; return redis.call('FLUSHALL') --",
    "~",
]


def keys_of(server: Server) -> set[bytes]:
    with Redis.from_url(server.endpoint) as client:
        return set(client.scan_iter(count=1000))


def opened(server: Server, queue: str, prefix: str = "dibs") -> Queue:
    return dibs.open(f"{server.endpoint}/0?queue={quote(queue, safe='')}&prefix={quote(prefix, safe='')}&warn=off")


def test_64_connections_at_once(url: str, queue: Queue) -> None:
    ids = {task.id for task in queue.push_many(range(640))}
    queues = [dibs.open(url) for _ in range(CONNECTIONS)]
    start = threading.Barrier(CONNECTIONS)

    def work(mine: Queue) -> list[str]:
        start.wait()
        done = []
        while (lease := mine.claim(ttl=600)) is not None:
            lease.complete()
            done.append(lease.id)
        return done

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        done = [task_id for part in pool.map(work, queues) for task_id in part]
    assert Counter(done) == Counter(ids)
    for one in queues:
        one.close()


def test_a_process_keeps_no_more_connections_than_it_needs(queue: Queue, redis_server: Server) -> None:
    queue.push_many(range(50))
    for _ in range(50):
        lease = queue.claim()
        assert lease is not None
        lease.complete()
    assert len(queue._server._idle[1]) == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_queues_do_not_see_each_other(redis_server: Server, name: str) -> None:
    mark = uuid4().hex
    plain = opened(redis_server, mark)
    others = [opened(redis_server, mark + name), opened(redis_server, name + mark), opened(redis_server, mark, name)]
    for n, queue in enumerate([plain, *others]):
        queue.push(n, key="same", labels=["same"], project="same")
        queue.pause(f"{n}")
    for n, queue in enumerate([plain, *others]):
        assert queue.paused == f"{n}"
        queue.resume()
        assert [task.payload for task in queue.tasks()] == [n]
        lease = queue.claim(project="same")
        assert lease is not None
        assert lease.payload == n
        assert queue.claim() is None
        lease.complete()
        queue.purge(older_than=0)
        queue.close()


def test_what_belongs_together_is_not_split_elsewhere(redis_server: Server) -> None:
    """(a, b:c) and (a:b, c) are two queues."""
    mark = uuid4().hex
    one, other = opened(redis_server, f"b:{mark}", "a"), opened(redis_server, mark, "a:b")
    one.push(1)
    assert other.stats().total == 0


@pytest.mark.parametrize("value", [*HOSTILE, "task:", "meta"], ids=ascii)
def test_values_are_only_values(queue: Queue, url: str, redis_server: Server, value: str) -> None:
    before = keys_of(redis_server)
    base = queue._server.address.base.encode()  # type: ignore[attr-defined]
    task = queue.push({value: value}, key=value, labels=[value], project=value)
    waits = queue.push("waits", after=[value])
    assert queue.get(value).id == task.id
    lease = queue.claim(labels=[value], project=value)
    assert lease is not None
    assert (lease.id, lease.payload) == (task.id, {value: value})
    queue.pause(value)
    assert queue.paused == value
    queue.resume()
    lease.fail(value, retry=False)
    assert queue.detail(value).error == value
    queue.retry(value)
    again = queue.claim(project=value)
    assert again is not None
    again.complete({value: value})
    assert queue.detail(value).result == {value: value}
    assert queue.get(waits.id).state == "ready"
    assert queue.stats().labels == {value: {"completed": 1}}
    assert all(key.startswith(base) for key in keys_of(redis_server) - before if key[:5] == base[:5] and base in key)


def test_all_keys_have_one_hash_tag(queue: Queue, redis_server: Server) -> None:
    queue.push(1, key="{other}", labels=["}{"], project="{x}", after=["{y}"])
    queue.push(2, key="{y}", delay=100)
    base = queue._server.address.base.encode()  # type: ignore[attr-defined]
    mine = [key for key in keys_of(redis_server) if base.strip(b"{}") in key]
    assert mine
    assert {key[key.index(b"{") : key.index(b"}") + 1] for key in mine} == {base}


def test_a_purged_queue_leaves_only_its_frame(queue: Queue, redis_server: Server) -> None:
    for n in range(20):
        queue.push(n, key=f"k{n}", labels=["x"] * (n % 2), after=[f"k{n - 1}"] if n else [])
    while (lease := queue.claim()) is not None:
        lease.complete(lease.payload)
    assert queue.purge(older_than=0) == 20
    base = queue._server.address.base.encode()  # type: ignore[attr-defined]
    left = {key[len(base) + 1 :].decode() for key in keys_of(redis_server) if key.startswith(base)}
    assert left == {"meta", "counts", "facets", "workers", "boots"}


@pytest.mark.parametrize("query", ["queue=", "prefix=", "queue=" + "x" * 300, "queue=" + "%C3%A9" * 50])
def test_names_that_are_none_are_refused(redis_server: Server, query: str) -> None:
    with pytest.raises(BadInput, match=r"queue|prefix"):
        dibs.open(f"{redis_server.endpoint}/0?{query}")
