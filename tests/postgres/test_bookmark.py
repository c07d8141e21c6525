"""Claims go on behind the last one: past what lies dead in the index, and past nothing else for long."""

from collections import Counter
from collections.abc import Iterator
from uuid import uuid4

import pytest

import dibs
from dibs.facets import EVERYTHING, make_filter
from dibs.queues.postgres import PostgresQueue
from dibs.queues.postgres.bookmark import FRONT, Bookmark
from dibs.queues.postgres.claiming import Claimer
from dibs.queues.postgres.driver import Connection
from postgres.conftest import Open
from postgres.places import url
from postgres.test_scale import HELD, pages
from servers.server import Server

GONE = 20_000
IDS = [f"{number:032x}" for number in range(1, 5)]


@pytest.fixture
def place(postgres: Server) -> str:
    return url(postgres, f"mark_{uuid4().hex[:8]}", "one")


@pytest.fixture
def worn(place: str) -> Iterator[PostgresQueue]:
    """Much was claimed and completed, nothing was vacuumed, and some tasks wait."""
    with dibs.open(place) as queue:
        assert isinstance(queue, PostgresQueue)
        with queue._database.connections.one() as connection:
            connection.execute(f"ALTER TABLE {queue._address.schema}.tasks SET (autovacuum_enabled = off)".encode())
        queue.push_many(range(GONE))
        while leases := queue.claim_many(2000):
            assert not queue.complete_many(leases)
        queue.push_many(range(20))
        yield queue


def test_a_claim_does_not_step_over_what_was_claimed_before(worn: PostgresQueue) -> None:
    def touched(claimer: Claimer, verb: str) -> int:
        def claim(connection: Connection) -> None:
            more = HELD if verb == "chain" else {}
            claimer.ask(connection, verb, 1, 60.0, EVERYTHING, "nobody", 1.0, **more)

        return pages(worn, verb, claim)

    assert worn.claim() is not None
    fresh, used = Claimer(worn._database, worn.clock), worn._taker._claimer
    assert touched(fresh, "grab") > GONE / 400  # so many pages lie in front
    assert touched(used, "grab") < 40
    assert touched(used, "chain") < 40


def test_a_higher_priority_is_claimed_first_wherever_the_last_claim_was(place: str, open_queue: Open) -> None:
    queue, other = open_queue(place), open_queue(place)
    queue.push_many(range(5))
    assert queue.claim() is not None and queue.claim() is not None
    high = other.push("high", priority="high")
    lease = queue.claim()
    assert lease is not None and lease.id == high.id
    high = other.push("high again", priority="high")
    following = queue.complete_and_claim(lease)
    assert following is not None and following.id == high.id


def test_what_one_puts_back_is_the_oldest_again(place: str, open_queue: Open) -> None:
    queue = open_queue(place)
    queue.push_many(range(5))
    first, second = queue.claim(), queue.claim()
    assert first is not None and second is not None
    first.release()
    again = queue.claim()
    assert again is not None and again.id == first.id


@pytest.mark.parametrize("way", ["claim", "complete_and_claim", "complete_and_claim_many"])
def test_what_somebody_took_and_was_undone_is_not_left_behind(place: str, open_queue: Open, way: str) -> None:
    queue = open_queue(place)
    tasks = queue.push_many(range(4))
    lease = queue.claim()  # from here on it is busy, and passes over what others are at
    assert lease is not None
    with queue._database.connections.one() as connection, connection.transaction(force_rollback=True):
        connection.execute(f"UPDATE {queue._address.schema}.tasks SET state = 'claimed' WHERE state = 'ready'".encode())
    got = [lease.id]
    while lease:
        if way == "complete_and_claim_many":
            lease = next(iter(queue.complete_and_claim_many([lease], 1)), None) or queue.claim()
        elif way == "complete_and_claim":
            lease = queue.complete_and_claim(lease) or queue.claim()
        else:
            lease = queue.claim()
        got += [lease.id] if lease else []
    assert got == [task.id for task in tasks]


def test_what_another_puts_back_is_not_left_behind(place: str, open_queue: Open) -> None:
    queue, other = open_queue(place), open_queue(place)
    tasks = queue.push_many(range(4))
    given = other.claim()
    assert given is not None and given.id == tasks[0].id
    assert len(queue.claim_many(2)) == 2
    given.release()
    leases = [queue.claim(), queue.claim()]
    assert {lease.id for lease in leases if lease} == {tasks[0].id, tasks[3].id}


def test_a_mark_moves_on_and_is_dropped() -> None:
    sent: Counter[str] = Counter()
    mark = Bookmark(sent)
    assert mark.place(EVERYTHING) == FRONT
    mark.move(EVERYTHING, 50, IDS[1])
    assert mark.place(EVERYTHING) == (-50, IDS[1])
    assert mark.place(make_filter(project="p")) == FRONT
    mark.move(EVERYTHING, 100, IDS[3])  # a higher priority came in between
    assert mark.place(EVERYTHING) == (-50, IDS[1])
    mark.move(EVERYTHING, 0, IDS[0])
    assert mark.place(EVERYTHING) == (0, IDS[0])
    sent["complete"] += 1
    assert mark.place(EVERYTHING) == (0, IDS[0])
    sent["step"] += 1
    assert mark.place(EVERYTHING) == FRONT
    mark.move(EVERYTHING, 50, "what somebody wrote into a record")
    assert mark.place(EVERYTHING) == FRONT
    mark.move(EVERYTHING, 50, IDS[2])
    mark.drop()
    assert mark.place(EVERYTHING) == FRONT
