"""A connection that breaks after the server has done what was asked: its outcome is found out, nothing done again."""

import threading
from collections.abc import Callable, Iterator

import pytest
from redis import Redis

import dibs
from dibs.errors import LeaseLost, StorageError
from dibs.queues.queue import Queue
from dibs.queues.redis.scripts import script
from dibs.states import State
from dibs.task import NewTask
from servers.redis_proxy import LosingProxy


@pytest.fixture
def shaky(through: str) -> Iterator[Queue]:
    """Its answers may get lost."""
    with dibs.open(through) as opened:
        yield opened


@pytest.fixture
def lose(proxy: LosingProxy, url: str) -> Callable[..., None]:
    """Lose the answer to the next use of a script, which the server knows already: so it is done."""

    def losing(verb: str, times: int = 1) -> None:
        with Redis.from_url(url.partition("?")[0]) as client:
            client.script_load(script(verb).text)
        proxy.lose(script(verb).sha, times)

    return losing


def test_a_push_is_done_once(queue: Queue, shaky: Queue, proxy: LosingProxy, lose: Callable[..., None]) -> None:
    lose("push")
    task = shaky.push({"n": 1}, key="k")
    assert proxy.lost == 1
    assert not task.duplicate
    lose("push", 2)
    many = shaky.push_many([NewTask(payload=n, after=["k"] if n % 2 else []) for n in range(500)])
    assert proxy.lost >= 2
    assert [task.payload for task in many] == list(range(500))
    assert queue.stats().states == dict.fromkeys(State, 0) | {"ready": 251, "blocked": 250}


@pytest.mark.parametrize("limit", [1, 30])
def test_what_was_claimed_is_found(
    queue: Queue, shaky: Queue, proxy: LosingProxy, lose: Callable[..., None], limit: int
) -> None:
    shaky.push_many(range(40))
    lose("claim")
    leases = shaky.claim_many(limit, ttl=60)
    assert proxy.lost == 1
    assert len(leases) == limit
    assert {(lease.id, lease.epoch) for lease in leases} == {(claim.id, 1) for claim in queue.claimed()}
    assert shaky.complete_many(leases) == []
    assert queue.stats().states["completed"] == limit


def test_a_lost_claim_of_nothing_is_asked_again(shaky: Queue, proxy: LosingProxy, lose: Callable[..., None]) -> None:
    lose("claim")
    assert shaky.claim() is None
    assert proxy.lost == 1


def test_the_look_for_a_lost_claim_may_get_lost_too(
    shaky: Queue, proxy: LosingProxy, lose: Callable[..., None]
) -> None:
    shaky.push(1)
    lose("claim")
    lose("mine")
    assert shaky.claim() is not None
    assert proxy.lost == 2


def test_each_end_of_a_lease_is_found_done(
    queue: Queue, shaky: Queue, proxy: LosingProxy, lose: Callable[..., None]
) -> None:
    ends = {
        "complete": lambda lease: lease.complete({"r": 1}),
        "release": lambda lease: lease.release(),
        "fail": lambda lease: lease.fail("no"),
        "renew": lambda lease: lease.renew(),
    }
    for count, (verb, end) in enumerate(ends.items(), 1):
        task = shaky.push(verb, backoff=100.0)
        lease = shaky.claim(ttl=60)
        assert lease is not None
        lose(verb)
        end(lease)
        assert proxy.lost == count
        found = queue.detail(task.id)
        assert (found.task.epoch, len(found.history)) == (1, int(verb in ("complete", "fail")))
        if verb in ("release", "renew"):
            queue.cancel(task.id)
    states = {state: count for state, count in queue.stats().states.items() if count}
    assert states == {"completed": 1, "scheduled": 1, "cancelled": 2}


def test_a_batch_of_completions_is_found_done(
    queue: Queue, shaky: Queue, proxy: LosingProxy, lose: Callable[..., None]
) -> None:
    shaky.push_many(range(450))
    leases = shaky.claim_many(450, ttl=60)
    queue.cancel(leases[7].id)
    lose("complete", 2)
    assert shaky.complete_many(leases) == [leases[7]]
    assert proxy.lost >= 1
    assert queue.stats().states["completed"] == 449


def test_a_step_that_gave_up_may_be_taken_again(
    queue: Queue, proxy: LosingProxy, through: str, lose: Callable[..., None]
) -> None:
    """Its answer was lost for good; whoever asks again is told that it was done."""
    with dibs.open(f"{through}&patience=0") as hasty:
        task = hasty.push(1)
        lease = hasty.claim(ttl=60)
        assert lease is not None
        lose("complete")
        with pytest.raises(StorageError, match="may have been done"):
            lease.complete("mine")
        assert queue.get(task.id).state is State.COMPLETED
        lease.complete("mine")
    assert len(queue.detail(task.id).history) == 1


def test_another_with_the_same_lease_is_not_taken_for_us(queue: Queue, shaky: Queue, lose: Callable[..., None]) -> None:
    task = shaky.push(1)
    lease = shaky.claim(ttl=60)
    assert lease is not None
    queue.lease(task.id, lease.epoch).complete("by another")
    with pytest.raises(LeaseLost):
        lease.complete("by us")


def test_steering_is_found_done(queue: Queue, shaky: Queue, proxy: LosingProxy, lose: Callable[..., None]) -> None:
    task = shaky.push(1)
    lose("cancel")
    assert shaky.cancel(task.id).state is State.CANCELLED
    lose("retry")
    assert shaky.retry(task.id).state is State.READY
    lose("pause")
    shaky.pause("why")
    lose("resume")
    shaky.resume()
    lose("purge")
    queue.cancel(task.id)
    shaky.purge("cancelled", older_than=0)
    assert proxy.lost == 5
    assert queue.stats().total == 0


def test_a_network_that_comes_back_is_waited_for(queue: Queue, shaky: Queue, proxy: LosingProxy) -> None:
    shaky.push(1)
    lease = shaky.claim(ttl=60)
    assert lease is not None
    proxy.cut()
    back = threading.Timer(0.3, proxy.mend)
    back.start()
    lease.complete("after all")
    back.join()
    assert queue.stats().states["completed"] == 1
