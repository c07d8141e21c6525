"""Two daemons on one queue: what was claimed through one can be renewed and completed through the other."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

import dibs
from dibs.errors import LeaseLost
from postgres.places import migrated, url
from serve.daemon import Daemon
from servers.server import Server


@pytest.fixture(params=["files", "postgres", "redis"])
def pair(request: pytest.FixtureRequest, quick_folder: Path) -> Iterator[tuple[Daemon, Daemon]]:
    place = f"file:{quick_folder}/q?sync=off"
    if request.param == "postgres":
        server: Server = request.getfixturevalue("postgres")
        place = url(server, f"pair_{uuid4().hex[:8]}")
        migrated(place)
    elif request.param == "redis":
        redis: Server = request.getfixturevalue("redis_server")
        place = f"{redis.endpoint}/0?queue=q{uuid4().hex}&warn=off"
    daemons = (Daemon(lambda: dibs.open(place, pid=None)), Daemon(lambda: dibs.open(place, pid=None)))
    yield daemons
    for daemon in daemons:
        daemon.stop()


def test_claimed_through_one_and_completed_through_the_other(pair: tuple[Daemon, Daemon]) -> None:
    with dibs.open(pair[0].url) as one, dibs.open(pair[1].url) as other:
        one.push_many([{"n": 1}, {"n": 2}])
        mine, theirs = one.claim(ttl=600), other.claim(ttl=600)
        assert mine is not None
        assert theirs is not None
        assert mine.id != theirs.id
        assert other.claim() is None
        there = other.lease(mine.id, mine.epoch)
        there.renew()
        there.complete("by the other")
        assert one.detail(mine.id).result == "by the other"
        with pytest.raises(LeaseLost):
            mine.complete("again")
        one.lease(theirs.id, theirs.epoch).release()
        again = one.claim(ttl=600)
        assert again is not None
        assert (again.id, again.epoch) == (theirs.id, 2)
        with pytest.raises(LeaseLost):
            theirs.renew()


def test_a_session_that_is_lost_to_one_ends_nothing_of_the_other(pair: tuple[Daemon, Daemon]) -> None:
    with dibs.open(pair[0].url) as one, dibs.open(pair[1].url) as other:
        one.push_many([1, 2])
        mine, theirs = one.claim(ttl=600), other.claim(ttl=600)
        assert mine is not None
        assert theirs is not None
        pair[0].house.counters["q"].desk.end((mine.id, mine.epoch))
        theirs.renew()
        theirs.complete()
        taken = other.claim(ttl=600)
        assert taken is not None
        assert (taken.id, taken.epoch, taken.task.deaths) == (mine.id, 2, 1)
