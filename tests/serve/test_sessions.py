"""A worker's held connection: when it drops its claims go back; in good order, or back in time, they do not."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

import dibs
from children import environment
from dibs.errors import LeaseLost
from postgres.relay import Relay
from serve.daemon import TOKEN, Daemon
from waiting import PATIENCE, until

HOLDER = """
import sys, dibs
queue = dibs.open(sys.argv[1])
lease = queue.claim(ttl=600)
print(lease.epoch, flush=True)
sys.stdin.read()
queue.close()
"""


def hold(url: str) -> "subprocess.Popen[str]":
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "1\n"
    return holder


def connected(daemon: Daemon) -> int:
    return len(daemon.house.counters["q"].sessions._connected)


def test_what_a_killed_worker_held_goes_to_others_and_counts_as_a_death(daemon: Daemon) -> None:
    with dibs.open(daemon.url) as queue:
        task = queue.push(1)
        holder = hold(daemon.url)
        until(lambda: connected(daemon), equals=1)
        os.kill(holder.pid, signal.SIGKILL)
        holder.communicate()
        lease = queue.claim(ttl=60, wait=50)
        assert lease is not None
        assert (lease.id, lease.epoch, lease.task.deaths) == (task.id, 2, 1)


def test_who_leaves_in_good_order_leaves_its_leases_to_expire(daemon: Daemon) -> None:
    with dibs.open(daemon.url) as queue:
        queue.push(1)
        holder = hold(daemon.url)
        until(lambda: connected(daemon), equals=1)
        holder.communicate("", timeout=PATIENCE)
        until(lambda: connected(daemon), equals=0)
        assert queue.claim(wait=0.8) is None
        assert queue.stats().states["claimed"] == 1
        assert daemon.logged == []  # nobody is said to be gone


def test_who_comes_back_within_the_grace_keeps_what_it_held(start: Callable[..., Daemon]) -> None:
    """Its burial, which would be in ten minutes, is called off."""
    daemon = start(grace=600.0)
    sessions = daemon.house.counters["q"].sessions
    relay = Relay("127.0.0.1", daemon.port)
    with relay, dibs.open(f"http://127.0.0.1:{relay.port}/q?token={TOKEN}") as queue:
        queue.push(1)
        lease = queue.claim(ttl=600)
        assert lease is not None
        until(lambda: connected(daemon), equals=1)
        relay.away = True
        relay.cut_all()
        (burial,) = until(lambda: list(sessions._burying.values()), "it to be missed")
        relay.away = False
        until(burial.done, "it to come back")
        assert burial.cancelled()
        assert (connected(daemon), sessions._burying) == (1, {})
        with dibs.open(daemon.url) as other:
            assert other.claim() is None
        lease.renew()
        lease.complete("kept")


def test_a_lease_that_was_given_back_is_lost_to_its_holder(start: Callable[..., Daemon]) -> None:
    daemon = start(grace=0.0)
    counter = daemon.house.counters["q"]
    with dibs.open(daemon.url) as queue, dibs.open(daemon.url) as other:
        queue.push(1)
        lease = queue.claim(ttl=600)
        assert lease is not None
        counter.desk.end((lease.id, lease.epoch))
        taken = other.claim()
        assert taken is not None
        with pytest.raises(LeaseLost, match=lease.id):
            lease.renew()
        taken.complete()


def test_many_leases_of_one_worker_end_without_the_others(daemon: Daemon) -> None:
    desk = daemon.house.counters["q"].desk
    with dibs.open(daemon.url) as queue:
        queue.push_many(range(4))
        leases = queue.claim_many(4, ttl=600)
        desk.end((leases[0].id, 1))
        desk.end(*((lease.id, 1) for lease in leases[1:3]))
        again = queue.claim_many(4, ttl=600)
        assert sorted((one.id, one.epoch, one.task.deaths) for one in again) == sorted(
            (one.id, 2, 1) for one in leases[:3]
        )
        leases[3].renew()
        leases[3].complete()


def test_one_worker_that_dies_takes_nobody_else_with_it(daemon: Daemon) -> None:
    with dibs.open(daemon.url) as queue:
        queue.push_many([1, 2])
        mine = queue.claim(ttl=600)
        assert mine is not None
        holder = hold(daemon.url)
        until(lambda: connected(daemon), equals=2)
        os.kill(holder.pid, signal.SIGKILL)
        holder.communicate()
        other = queue.claim(ttl=600, wait=50)
        assert other is not None
        assert (other.epoch, other.id != mine.id) == (2, True)
        mine.renew()
        assert queue.complete_many([mine, other]) == []
