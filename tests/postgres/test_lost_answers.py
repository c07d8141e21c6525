"""A connection that breaks in the middle of a step: the outcome is found out, not guessed."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

import dibs
from dibs.states import State
from postgres.conftest import Open
from postgres.relay import Relay

ANSWERED = pytest.mark.parametrize("answered", [False, True], ids=["before", "after"])


@pytest.fixture
def relay(place: str) -> Iterator[Relay]:
    parts = urlsplit(place)
    with Relay(parts.hostname or "", parts.port or 0) as relay:
        yield relay


@pytest.fixture
def through(place: str, relay: Relay) -> str:
    return place.replace(f":{urlsplit(place).port}/", f":{relay.port}/")


@ANSWERED
@pytest.mark.parametrize("result", ["done", None])
def test_a_completion_counts_once(
    open_queue: Open, through: str, relay: Relay, answered: bool, result: str | None
) -> None:
    queue, direct = open_queue(through), open_queue()
    task = queue.push({"n": 1})
    lease = queue.claim()
    assert lease is not None
    relay.cut(lease.id.encode(), answered=answered)
    lease.complete(result)
    assert relay.cuts == 1
    detail = direct.detail(task.id)
    assert (detail.task.state, detail.result) == (State.COMPLETED, result)
    assert [event.what for event in detail.history] == ["completed"]


@ANSWERED
def test_a_completion_is_refused_if_another_took_the_task(
    open_queue: Open, through: str, relay: Relay, answered: bool
) -> None:
    queue, direct = open_queue(through), open_queue()
    task = queue.push({"n": 1})
    lease = queue.claim()
    assert lease is not None
    direct.cancel(task.id)
    relay.cut(b'"what":"completed"', answered=answered)
    with pytest.raises(dibs.LeaseLost, match="cancelled"):
        lease.complete("done")
    assert relay.cuts == 1
    assert direct.get(task.id).state is State.CANCELLED


@ANSWERED
def test_a_batch_of_completions_counts_once(open_queue: Open, through: str, relay: Relay, answered: bool) -> None:
    queue, direct = open_queue(through), open_queue()
    queue.push_many(range(5))
    leases = queue.claim_many(5)
    direct.cancel(leases[0].id)
    leases[1].result = "kept"
    relay.cut(bytes.fromhex(leases[1].id), answered=answered)
    assert [lease.id for lease in queue.complete_many(leases)] == [leases[0].id]
    assert relay.cuts == 1
    assert {state: n for state, n in direct.stats().states.items() if n} == {"completed": 4, "cancelled": 1}
    for lease in leases[1:]:
        (event,) = direct.detail(lease.id).history
        assert (event.what, event.epoch, event.worker, event.result) == ("completed", 1, lease.worker, lease.result)


@ANSWERED
def test_a_completion_that_claims_the_next_counts_once(
    open_queue: Open, through: str, relay: Relay, answered: bool
) -> None:
    queue, direct = open_queue(through), open_queue()
    queue.push_many(range(3))
    lease = queue.claim()
    assert lease is not None
    relay.cut(lease.id.encode(), answered=answered)
    following = queue.complete_and_claim(lease, "done")
    assert relay.cuts == 1
    assert following is not None
    assert direct.detail(lease.id).result == "done"
    assert [claim.id for claim in direct.claimed()] == [following.id]
    following.complete()
    assert {state: n for state, n in direct.stats().states.items() if n} == {"completed": 2, "ready": 1}


@ANSWERED
def test_a_refused_completion_claims_nothing_even_if_the_answer_was_lost(
    open_queue: Open, through: str, relay: Relay, answered: bool
) -> None:
    queue, direct = open_queue(through), open_queue()
    queue.push_many(range(3))
    lease = queue.claim()
    assert lease is not None
    direct.cancel(lease.id)
    relay.cut(lease.id.encode(), answered=answered)
    with pytest.raises(dibs.LeaseLost, match="cancelled"):
        queue.complete_and_claim(lease)
    assert relay.cuts == 1
    assert direct.claimed() == []


@ANSWERED
@pytest.mark.parametrize("retry", [True, False])
def test_a_failure_counts_once(open_queue: Open, through: str, relay: Relay, answered: bool, retry: bool) -> None:
    queue, direct = open_queue(through), open_queue()
    task = queue.push({"n": 1}, backoff=1000.0)
    lease = queue.claim()
    assert lease is not None
    relay.cut(b'"what":"failed"', answered=answered)
    lease.fail("broken", retry=retry)
    assert relay.cuts == 1
    detail = direct.detail(task.id)
    assert (detail.task.attempts, [event.what for event in detail.history]) == (1, ["failed"])
    assert detail.task.state is (State.SCHEDULED if retry else State.FAILED)


@ANSWERED
def test_a_release_counts_as_nothing(open_queue: Open, through: str, relay: Relay, answered: bool) -> None:
    queue, direct = open_queue(through), open_queue()
    task = queue.push({"n": 1})
    lease = queue.claim()
    assert lease is not None
    relay.cut(lease.token.session.encode(), answered=answered)
    lease.release()
    assert relay.cuts == 1
    now = direct.get(task.id)
    assert (now.state, now.attempts, now.deaths, now.epoch) == (State.READY, 0, 0, 1)


@ANSWERED
def test_a_claim_is_found_again(open_queue: Open, through: str, relay: Relay, answered: bool) -> None:
    queue, direct = open_queue(through), open_queue()
    queue.push_many(range(3))
    first = queue.claim()
    assert first is not None
    relay.cut(first.token.session.encode(), answered=answered)
    rest = queue.claim_many(2)
    assert relay.cuts == 1
    assert len({lease.id for lease in [first, *rest]}) == 3
    assert {lease.epoch for lease in rest} == {1}
    assert direct.stats().states["claimed"] == 3
    assert queue.complete_many([first, *rest]) == []


@ANSWERED
@pytest.mark.parametrize("key", [None, "k"])
def test_a_push_is_one_task(open_queue: Open, through: str, relay: Relay, answered: bool, key: str | None) -> None:
    queue, direct = open_queue(through), open_queue()
    relay.cut(b"only once", answered=answered)
    task = queue.push("only once", key=key)
    assert relay.cuts == 1
    assert not task.duplicate
    assert [found.id for found in direct.tasks()] == [task.id]


def test_a_renewal_finds_out_too(open_queue: Open, through: str, relay: Relay) -> None:
    queue = open_queue(through)
    queue.push(1)
    lease = queue.claim(ttl=60)
    assert lease is not None
    before = lease.deadline
    relay.cut(lease.token.session.encode(), answered=True)
    lease.renew()
    assert relay.cuts == 1
    assert lease.deadline > before


def test_connections_that_are_all_cut_are_made_again(open_queue: Open, through: str, relay: Relay) -> None:
    queue = open_queue(through)
    for n in range(5):
        queue.push(n)
        lease = queue.claim()
        assert lease is not None
        relay.cut_all()
        lease.complete()
    assert queue.stats().states["completed"] == 5
