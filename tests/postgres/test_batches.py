"""Many tasks at once: what is plain goes by a statement that only counts, and the rest is told apart all the same."""

from urllib.parse import urlsplit

import pytest

from dibs.errors import StorageError
from dibs.queues.postgres import PostgresQueue
from dibs.states import State
from postgres.conftest import Open
from postgres.relay import Relay


def mixed(queue: PostgresQueue, other: PostgresQueue) -> tuple[list[str], list[str]]:
    """Completes plain tasks with one that is awaited by its id, one by its key, and one that is lost: the lost, and
    all that were given."""
    queue.push_many(range(6))
    keyed = queue.push("keyed", key="k")
    leases = queue.claim_many(7)
    queue.push("by id", after=[leases[2].id])
    queue.push("by key", after=["k"])
    other.cancel(leases[4].id)
    assert keyed.id in [lease.id for lease in leases]
    lost = queue.complete_many(leases)
    assert [lease.id for lease in lost] == [leases[4].id]
    return [lease.id for lease in lost], [lease.id for lease in leases]


def test_plain_awaited_and_lost_ones_in_one_batch(open_queue: Open) -> None:
    queue, other = open_queue(), open_queue()
    lost, given = mixed(queue, other)
    states = {task_id: other.get(task_id).state for task_id in given}
    assert [task_id for task_id, state in states.items() if state is not State.COMPLETED] == lost
    assert {state: n for state, n in other.stats().states.items() if n} == {"completed": 6, "cancelled": 1, "ready": 2}
    assert sorted(lease.payload for lease in queue.claim_many(5)) == ["by id", "by key"]


@pytest.mark.parametrize("answered", [False, True], ids=["before", "after"])
def test_the_same_when_the_connection_breaks(open_queue: Open, place: str, answered: bool) -> None:
    parts = urlsplit(place)
    with Relay(parts.hostname or "", parts.port or 0) as relay:
        queue = open_queue(place.replace(f":{parts.port}/", f":{relay.port}/"))
        queue.push_many(range(6))
        leases = queue.claim_many(6)
        relay.cut(bytes.fromhex(leases[3].id), answered=answered)
        assert queue.complete_many(leases) == []
        assert relay.cuts == 1
    assert open_queue().stats().states[State.COMPLETED] == 6


def test_a_batch_without_anything_unusual_is_one_statement(queue: PostgresQueue) -> None:
    queue.push_many(range(20))
    queue.complete_many(queue.claim_many(10))
    before = queue.sent
    queue.complete_many(queue.claim_many(10))
    assert {
        verb: number - before.get(verb, 0) for verb, number in queue.sent.items() if number != before.get(verb)
    } == {
        "grab": 1,
        "complete_plain": 1,
    }


def test_the_next_batch_comes_with_the_completion_of_the_last(queue: PostgresQueue) -> None:
    queue.push_many(range(40))
    leases = queue.claim_many(10)
    before = queue.sent
    while leases:
        leases = queue.complete_and_claim_many(leases, 10)
    changed = {verb: number - before.get(verb, 0) for verb, number in queue.sent.items() if number != before.get(verb)}
    assert changed == {"chain_many": 4}
    assert queue.stats().states[State.COMPLETED] == 40


@pytest.mark.parametrize("answered", [False, True], ids=["before", "after"])
def test_a_chain_of_batches_when_the_connection_breaks(open_queue: Open, place: str, answered: bool) -> None:
    parts = urlsplit(place)
    with Relay(parts.hostname or "", parts.port or 0) as relay:
        queue = open_queue(place.replace(f":{parts.port}/", f":{relay.port}/"))
        queue.push_many(range(9))
        leases = queue.claim_many(3)
        queue.push("waits", after=[leases[1].id])
        relay.cut(bytes.fromhex(leases[2].id), answered=answered)
        following = queue.complete_and_claim_many(leases, 3)
        assert relay.cuts == 1
        assert [lease.state for lease in leases] == ["completed"] * 3
        assert len(following) == (3 if answered else 0)
        assert len(queue.claimed()) == len(following)
        queue.complete_many(following)
        while leases := queue.claim_many(4):
            queue.complete_many(leases)
    assert open_queue().stats().states[State.COMPLETED] == 10


def test_a_batch_that_nobody_could_tell_about_is_found_out_later(open_queue: Open, place: str) -> None:
    parts = urlsplit(place)
    with Relay(parts.hostname or "", parts.port or 0) as relay:
        queue = open_queue(place.replace(f":{parts.port}/", f":{relay.port}/"))
        queue._database.patience = 0.0
        queue.push_many(range(3))
        leases = queue.claim_many(3)
        relay.cut(bytes.fromhex(leases[0].id), answered=True)
        relay.away = True
        with pytest.raises(StorageError):
            queue.complete_many(leases)
        relay.away = False
        assert queue.complete_many(leases) == []
        assert [lease.state for lease in leases] == ["completed"] * 3


def test_a_batch_comes_in_order_wherever_its_tasks_are_stored(queue: PostgresQueue) -> None:
    tasks = queue.push_many(range(40))
    queue.set_priority(tasks[3].id, 60)
    leases = queue.claim_many(30)
    for lease in reversed(leases[1:]):
        lease.release()  # each is stored anew, the last first
    assert queue.claim() is not None  # busy again: the next claim is the short one
    taken = queue.claim_many(20)
    assert queue.sent["grab"] and [lease.id for lease in taken] == sorted(lease.id for lease in taken)
