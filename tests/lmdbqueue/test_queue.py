"""The queue in LMDB: dead workers, other boots, retention, several settings at once, the commands."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dibs
from children import command, environment
from dibs.errors import TaskNotFound
from dibs.host import Host, this_host
from dibs.queues.lmdb.layout import WORKER
from dibs.queues.queue import Queue
from dibs.testing import ManualClock


def workers(queue: Queue) -> int:
    found: int = queue._database.read(  # type: ignore[attr-defined]
        lambda txn: sum(key[:1] == WORKER for key in txn.cursor().iternext(values=False))
    )
    return found


def start(role: str, url: str, count: int = 0) -> "subprocess.Popen[str]":
    pipe = subprocess.PIPE
    words = command("redisqueue.hand", role, url, str(count))
    return subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, env=environment())


@pytest.mark.parametrize("busy", [False, True])
def test_what_a_dead_worker_held_is_taken_over_at_once(
    tmp_path: Path, busy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dibs.queues.lmdb.claimer.RESCUE_SECONDS", 0.0)
    url = f"lmdb:{tmp_path}/q?sync=off"
    with dibs.open(url) as queue:
        task = queue.push("first", priority="high")
        holder = start("hold", url)
        assert holder.stdout is not None
        assert [json.loads(holder.stdout.readline())[0] for _ in range(2)] == ["ready", "held"]
        queue.push_many(range(3 if busy else 0))
        if busy:
            assert queue.claim() is not None
        else:
            assert queue.claim() is None
        holder.kill()
        holder.communicate()
        taken = queue.claim()
        assert taken is not None
        assert (taken.id, taken.epoch, taken.task.deaths) == (task.id, 2, 1)
        assert workers(queue) == 1, "the dead one is forgotten"


def test_a_living_worker_is_left_alone(tmp_path: Path) -> None:
    url = f"lmdb:{tmp_path}/q?sync=off"
    with dibs.open(url) as queue:
        queue.push("first")
        holder = start("hold", url)
        assert holder.stdout is not None
        assert [json.loads(holder.stdout.readline())[0] for _ in range(2)] == ["ready", "held"]
        assert queue.claim(wait=0.3) is None
        holder.kill()
        holder.communicate()


def test_what_a_dead_worker_held_waits_for_its_living_guard(tmp_path: Path) -> None:
    url = f"lmdb:{tmp_path}/q?sync=off"
    code = (
        "import sys, dibs\n"
        "queue = dibs.open(sys.argv[1])\n"
        "queue.guard_pid = int(sys.argv[2])\n"
        "print(queue.handle(queue.claim(ttl=600)))\n"
    )
    with dibs.open(url) as queue:
        queue.push("x")
        words = [sys.executable, "-c", code, url, str(os.getpid())]
        done = subprocess.run(words, env=environment(), capture_output=True, text=True, check=True)
        assert queue.claim() is None, "its children may still run: the guard has not said that they are dead"
        queue.end(done.stdout.strip())
        lease = queue.claim()
        assert lease is not None
        assert (lease.epoch, lease.task.deaths) == (2, 1)


class Boots:
    """One queue, opened on several boots of this machine, whose clocks only the test moves."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.clock = ManualClock()

    def open(self, boot: str, **options: Any) -> Queue:
        here = this_host()
        host = Host(name=here.name, machine=here.machine, boot=boot, space=here.space)
        return dibs.open(self.url, clock=self.clock, host=host, **options)


@pytest.fixture
def boots(tmp_path: Path) -> Boots:
    return Boots(f"lmdb:{tmp_path}/q?sync=off&retention=100")


def test_one_shot_commands_go_on_watching_where_the_last_one_stopped(boots: Boots) -> None:
    with boots.open("before") as queue:
        queue.push("x")
        assert queue.claim(ttl=20) is not None
    for _ in range(4):
        with boots.open("after", pid=None) as once:
            assert once.claim() is None
        boots.clock.advance(6)
    with boots.open("after", pid=None) as once:
        lease = once.claim()
        assert lease is not None
        assert (lease.epoch, lease.task.deaths) == (2, 0)


def test_one_shot_commands_share_one_name(boots: Boots) -> None:
    holders = set()
    for n in range(5):
        with boots.open("now", pid=None) as queue:
            queue.push(n)
            lease = queue.claim()
            assert lease is not None
            holders.add(lease.token.holder)
            assert workers(queue) == 1
    assert len(holders) == 5


def test_a_lease_of_the_boot_before_may_be_picked_up_and_renewed(boots: Boots) -> None:
    with boots.open("before") as queue:
        task = queue.push("x")
        assert queue.claim(ttl=20) is not None
    with boots.open("after") as queue:
        lease = queue.lease(task.id, 1)
        assert not lease.held
        lease.renew()
        assert lease.held
        boots.clock.advance(15)
        assert boots.open("third").claim() is None
        lease.complete("late")
        assert queue.detail(task.id).result == "late"
        assert queue.claimed() == []


def test_retention_deletes_what_ended_long_before_the_last(boots: Boots) -> None:
    with boots.open("now") as queue:
        ids = []
        for end in ("complete", "cancel", "fail"):
            ids.append(queue.push(end, key=end).id)
            lease = queue.claim()
            assert lease is not None
            if end == "complete":
                lease.complete({"kept": True})
            elif end == "cancel":
                queue.cancel(lease.id)
            else:
                lease.fail("no", retry=False)
        for n in range(3):
            boots.clock.advance(60)
            queue.push(n)
            lease = queue.claim()
            assert lease is not None
            lease.complete()
        assert queue.stats().states["completed"] == 3
        for gone in (*ids[:2], "complete", "cancel"):
            with pytest.raises(TaskNotFound):
                queue.get(gone)
        assert queue.get(ids[2]).state == "failed", "dead letters stay"


def test_a_clock_that_jumps_ahead_deletes_nothing(boots: Boots) -> None:
    with boots.open("now") as queue:
        task = queue.push("x")
        lease = queue.claim()
        assert lease is not None
        lease.complete()
        boots.clock.step_wall(1e7)
        boots.clock.advance(5)
        queue.push("y")
        assert queue.claim() is not None
        assert queue.get(task.id).state == "completed"


def test_sync_is_kept_where_another_in_the_process_does_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[int] = []
    monkeypatch.setattr("dibs.queues.lmdb.environment.Environment.flush", lambda env: flushed.append(1))
    with dibs.open(f"lmdb:{tmp_path}/q?sync=off") as careless:
        careless.push(1)
        assert flushed == []
        with dibs.open(f"lmdb:{tmp_path}/q") as careful:
            careful.push(2)
            assert len(flushed) == 1
            assert careful.claim() is not None
            assert len(flushed) == 2


def test_a_push_is_flushed_whole_and_a_claim_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with dibs.open(f"lmdb:{tmp_path}/q") as queue:
        env = queue._database._env()._env  # type: ignore[attr-defined]
        flags = env.flags()
        assert (flags["sync"], flags["metasync"], flags["writemap"]) == (True, False, False)
        flushed: list[int] = []
        monkeypatch.setattr("dibs.queues.lmdb.environment.Environment.flush", lambda env: flushed.append(1))
        task = queue.push(1)
        assert len(flushed) == 1
        lease = queue.claim()
        assert lease is not None
        lease.release()
        assert len(flushed) == 1
        queue.cancel(task.id)
        queue.retry(task.id)
        assert len(flushed) == 3


def test_a_lease_given_twice_is_completed_once(tmp_path: Path) -> None:
    with dibs.open(f"lmdb:{tmp_path}/q?sync=off") as queue:
        queue.push_many(range(3))
        one, two, three = queue.claim_many(3)
        queue.cancel(two.id)
        picked_up = queue.lease(three.id, 1)
        assert queue.complete_many([one, one, two, three, picked_up]) == [one, two, picked_up]
        assert (one.state, two.state, picked_up.state) == ("completed", "lost", "lost")
        assert queue.stats().states["completed"] == 2
        assert len(queue.detail(one.id).history) == 1


def test_the_commands(tmp_path: Path) -> None:
    url = f"lmdb:{tmp_path}/q"

    def run(*words: str) -> str:
        done = subprocess.run([sys.executable, "-m", "dibs", *words], capture_output=True, text=True, check=True)
        return done.stdout

    run("push", url, '{"n": 1}')
    lease = json.loads(run("claim", url))
    run("complete", url, lease["id"], "--epoch", "1")
    run("push", url, '{"n": 2}')
    run("work", url, "--until-empty", "--call", "json:dumps")
    assert json.loads(run("stats", url, "--json"))["states"]["completed"] == 2


def test_a_completed_task_that_departs_takes_its_end_along(tmp_path: Path) -> None:
    with dibs.open(f"lmdb:{tmp_path}/q?sync=off") as queue, dibs.open(f"lmdb:{tmp_path}/other?sync=off") as other:
        task = queue.push("x", key="k")
        lease = queue.claim()
        assert lease is not None
        lease.complete()
        before = queue.detail("k")
        (parcel,) = queue.gate().export(before.task.state)
        (gone,) = queue.gate().depart([parcel], other.address)
        (again,) = queue.gate().departed()
        assert gone.history == again.history == before.history
        assert queue.gate().missing([task.id, "nothing", "0" * 32]) == {"nothing", "0" * 32}
        other.gate().admit([again])
        queue.gate().dismiss([again])
        after = other.detail("k")
        assert (after.task, after.history) == (before.task, before.history)
        assert queue.stats().total == 0
