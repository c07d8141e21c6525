"""Complete and claim in one round trip."""

from collections.abc import Iterator

import pytest
from redis import Redis

import dibs
from dibs.errors import LeaseLost
from dibs.queues.redis import RedisQueue
from dibs.queues.redis.scripts import script
from servers.redis_proxy import LosingProxy


@pytest.fixture
def chained(through: str) -> Iterator[RedisQueue]:
    with dibs.open(through) as opened:
        assert isinstance(opened, RedisQueue)
        yield opened


def test_a_worker_runs_many_with_one_round_trip_each(chained: RedisQueue) -> None:
    chained.push_many(range(50))
    lease = chained.claim(ttl=60)
    payloads = []
    before = chained._server.trips
    while lease is not None:
        payloads.append(lease.payload)
        done, lease = lease, chained.complete_and_claim(lease, lease.payload, ttl=60)
        assert done.state == "completed"
    assert payloads == list(range(50))
    assert chained._server.trips - before <= 50 + 1  # one more when the server does not know the script yet
    assert chained.stats().states["completed"] == 50


def test_a_refused_completion_claims_nothing(chained: RedisQueue) -> None:
    chained.push_many([1, 2])
    lease = chained.claim(ttl=60)
    assert lease is not None
    chained.cancel(lease.id)
    with pytest.raises(LeaseLost, match="cancelled"):
        chained.complete_and_claim(lease)
    assert {state: count for state, count in chained.stats().states.items() if count} == {"ready": 1, "cancelled": 1}
    with pytest.raises(LeaseLost):
        chained.complete_and_claim(lease)


def test_filters_hold_for_the_next(chained: RedisQueue) -> None:
    chained.push(1, project="a")
    chained.push(2, project="b")
    third = chained.push(3, project="a")
    lease = chained.claim(ttl=60, project="a")
    assert lease is not None
    following = chained.complete_and_claim(lease, project="a")
    assert following is not None
    assert following.id == third.id


def test_both_answers_may_get_lost(chained: RedisQueue, proxy: LosingProxy, url: str) -> None:
    chained.push_many([1, 2])
    lease = chained.claim(ttl=60)
    assert lease is not None
    with Redis.from_url(url.partition("?")[0]) as client:
        client.script_load(script("chain").text)
    proxy.lose(script("chain").sha)
    following = chained.complete_and_claim(lease, "done")
    assert proxy.lost == 1
    assert following is not None
    assert (lease.state, following.payload) == ("completed", 2)
    assert [event.what for event in chained.detail(lease.id).history] == ["completed"]
    assert [claim.id for claim in chained.claimed()] == [following.id]


def test_a_batch_brings_the_next_with_one_round_trip(chained: RedisQueue) -> None:
    chained.push_many(range(60))
    leases = chained.claim_many(20, ttl=60)
    chained.complete_and_claim_many([], 1, ttl=60)[0].release()  # the server knows the scripts
    before = chained._server.trips
    for left in (20, 20, 0):
        leases = chained.complete_and_claim_many(leases, 20, ttl=60)
        assert len(leases) == left
    assert chained._server.trips - before == 3
    assert chained.stats().states["completed"] == 60


def test_the_answers_to_a_batch_may_get_lost(chained: RedisQueue, proxy: LosingProxy, url: str) -> None:
    chained.push_many(range(6))
    leases = chained.claim_many(3, ttl=60)
    chained.cancel(leases[1].id)
    with Redis.from_url(url.partition("?")[0]) as client:
        client.script_load(script("complete").text)
    proxy.lose(script("complete").sha)
    following = chained.complete_and_claim_many(leases, 2, ttl=60)
    assert proxy.lost == 1
    assert [lease.state for lease in leases] == ["completed", "lost", "completed"]
    assert sorted(lease.payload for lease in following) == [3, 4]
    assert sorted(claim.id for claim in chained.claimed()) == sorted(lease.id for lease in following)
    ended = [[event.what for event in chained.detail(lease.id).history] for lease in leases]
    assert ended == [["completed"], ["cancelled"], ["completed"]]
