"""Plain tasks go the short way through the scripts, all others the long one: what holds is the same, also mixed."""

from typing import Any

import pytest
from redis import Redis

import dibs
from dibs.errors import LeaseLost
from dibs.queues.queue import Queue
from dibs.queues.redis.pusher import push
from dibs.states import State
from dibs.task import NewTask, make_task

KINDS: list[dict[str, Any]] = [
    {}, {"key": "k"}, {"project": "p"}, {"labels": ["x"]}, {"priority": 60}, {"max_runtime": 50.0}, {"max_attempts": 9},
    {"unique": "completed"},
]  # fmt: skip
HOSTILE = ['"after":', " {", "} ", "epoch=9 holder=me ", "claimed", "unusual", "a\tb c", "\x7f€😀/\\"]


def counts(queue: Queue) -> dict[str, int]:
    return {str(state): count for state, count in queue.stats().states.items() if count}


def test_one_batch_of_all_kinds(queue: Queue) -> None:
    pushed = queue.push_many(NewTask(payload=n, **KINDS[n % len(KINDS)] | ({"key": f"k{n}"} if n % 8 == 1 else {}))
                             for n in range(40))  # fmt: skip
    assert [task.payload for task in pushed] == list(range(40))
    again = queue.claim_many(5, ttl=60)
    for lease in again:
        lease.release()
    leases = queue.claim_many(20, ttl=60) + queue.claim_many(20, ttl=60)
    assert sorted(lease.payload for lease in leases) == list(range(40))
    assert {lease.epoch for lease in leases} == {1, 2}
    assert {lease.id for lease in leases if lease.epoch == 2} == {lease.id for lease in again}
    gone = [leases[3], leases[30]]
    for lease in gone:
        queue.cancel(lease.id)
    leases[7].result = {"r": 7}
    assert queue.complete_many(leases) == gone
    assert counts(queue) == {"completed": 38, "cancelled": 2}
    stats = queue.stats()
    assert stats.projects["p"] == {"completed": 5}
    assert stats.labels["x"] == {"completed": 5}
    assert queue.detail(leases[7].id).result == {"r": 7}
    assert all(queue.get(lease.id).epoch == lease.epoch for lease in leases if lease not in gone)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_of_two_that_complete_one_task_in_a_batch_one_is_told(queue: Queue, kind: dict[str, Any]) -> None:
    queue.push("shared", **kind)
    lease = queue.claim(ttl=60)
    assert lease is not None
    other = queue.lease(lease.id, lease.epoch)
    assert queue.complete_many([lease, lease, other]) == [other]
    assert counts(queue) == {"completed": 1}
    assert list(queue.stats().priorities.values()) == [{"completed": 1}]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("following", KINDS, ids=str)
def test_a_link_of_any_two_kinds(queue: Queue, kind: dict[str, Any], following: dict[str, Any]) -> None:
    first = queue.push(1, **kind)
    lease = queue.claim(ttl=60)
    assert lease is not None
    second = queue.push(2, **following | ({"key": "other"} if "key" in following else {}))
    chained = queue.complete_and_claim(lease, ttl=60)
    assert chained is not None
    assert (chained.id, chained.epoch) == (second.id, 1)
    with pytest.raises(LeaseLost):
        queue.lease(first.id, 1).complete()
    queue.push(3)
    plain = queue.claim(ttl=60)
    assert plain is not None
    chained.release()
    again = queue.complete_and_claim(plain)
    assert again is not None
    assert (again.id, again.epoch) == (second.id, 2)
    queue.push(4)
    chained.state = "held"  # so it seems to one who slept
    with pytest.raises(LeaseLost):
        queue.complete_and_claim(chained)
    chained.state = "held"
    assert queue.complete_many([chained]) == [chained]
    last = queue.complete_and_claim(again)
    assert last is not None
    assert last.payload == 4
    assert queue.complete_and_claim(last) is None
    stats = queue.stats()
    assert counts(queue) == {"completed": 4}
    assert sum(row["completed"] for row in stats.priorities.values()) == 4
    assert all(set(row) == {"completed"} for row in [*stats.projects.values(), *stats.labels.values()])
    assert queue.purge(older_than=0) == 4
    assert queue.stats().priorities == {}
    assert not queue.push(5, key="k").duplicate


def test_a_link_in_a_paused_queue_claims_nothing(queue: Queue) -> None:
    queue.push_many(range(3))
    lease = queue.claim(ttl=60)
    assert lease is not None
    queue.pause("why not")
    assert queue.complete_and_claim(lease) is None
    assert queue.claim() is None
    assert counts(queue) == {"completed": 1, "ready": 2}
    queue.resume()
    assert queue.claim() is not None


def test_a_link_frees_what_waited(queue: Queue) -> None:
    first = queue.push("first")
    queue.push("second", after=[first.id])
    lease = queue.claim(ttl=60)
    assert lease is not None
    following = queue.complete_and_claim(lease)
    assert following is not None
    assert following.payload == "second"


def test_the_usual_is_usual_again(url: str, queue: Queue) -> None:
    base = queue._server.address.base  # type: ignore[attr-defined]
    with Redis.from_url(url.partition("?")[0]) as client:
        queue.pause()
        assert client.hget(f"{base}:cells", "unusual")
        queue.resume()
        assert not client.hget(f"{base}:cells", "unusual")
        queue.push(1, after=["k"])
        queue.push(2, key="k")
        lease = queue.claim()
        assert lease is not None
        lease = queue.complete_and_claim(lease)
        assert client.hget(f"{base}:cells", "unusual")
        with dibs.open(url) as newcomer:  # whose first claim tidies
            assert newcomer.claim() is None
        assert not client.hget(f"{base}:cells", "unusual")


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_no_text_is_taken_for_a_part_of_the_cell(queue: Queue, text: str) -> None:
    queue.push(text, key=text, project=text, labels=[text])
    waiting = queue.push(2, after=[text])
    lease = queue.claim(ttl=60)
    assert lease is not None
    assert (lease.key, lease.task.project, lease.task.labels) == (text, text, (text,))
    lease.renew()
    lease.fail(text)
    queue.cancel(text)
    queue.retry(text)
    lease = queue.claim(ttl=60, project=text)
    assert lease is not None
    assert (lease.epoch, lease.key) == (2, text)
    lease.complete(text)
    assert queue.get(text).state == "completed"
    assert queue.get(waiting.id).state == "ready"
    assert counts(queue) == {"completed": 1, "ready": 1}
    assert queue.purge(older_than=0) == 1
    assert queue.stats().projects.get(text, {}) == {}


@pytest.mark.parametrize("kinds", [KINDS[:1], KINDS[:1] * 3, KINDS], ids=len)
def test_a_push_that_is_sent_again_changes_nothing(queue: Queue, kinds: list[dict[str, Any]]) -> None:
    """Whatever became of its tasks meanwhile."""
    tasks = [make_task(NewTask(payload=n, **kind), queue.clock, queue.store_time()) for n, kind in enumerate(kinds)]
    server = queue._server  # type: ignore[attr-defined]
    assert push(server, tasks) == tasks
    leases = queue.claim_many(len(tasks), ttl=60)
    assert len(leases) == len(tasks)
    assert {task.state for task in push(server, tasks)} == {State.CLAIMED}
    leases.pop().release()
    assert queue.complete_many(leases) == []
    states = [task.state for task in push(server, tasks)]
    assert (states.count(State.READY), states.count(State.COMPLETED)) == (1, len(leases))
    assert sum(counts(queue).values()) == len(tasks)
    last = queue.claim()
    assert last is not None
    assert last.epoch == 2
    assert queue.claim() is None
