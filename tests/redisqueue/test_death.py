"""Workers that die on this host are noticed at once; those that only stand still, or are elsewhere, after their TTL."""

import os
import signal
import subprocess
import threading

import dibs
from children import command, environment
from dibs.queues.held import Lease
from dibs.queues.queue import Queue
from waiting import PATIENCE, until


def holding(url: str) -> "subprocess.Popen[str]":
    words = command("redisqueue.hand", "hold", url, "1")
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment())
    assert process.stdout is not None
    assert "ready" in process.stdout.readline()
    assert "held" in process.stdout.readline()
    return process


def test_what_a_killed_worker_held_goes_back_at_once(queue: Queue, url: str) -> None:
    task = queue.push(1)
    process = holding(url)
    assert queue.claim() is None
    process.kill()
    process.communicate()
    lease = queue.claim()
    assert lease is not None
    assert (lease.id, lease.epoch, lease.task.deaths) == (task.id, 2, 1)
    assert "died" in queue.detail(task.id).history[0].error


def test_a_waiting_worker_notices_by_itself(url: str, queue: Queue) -> None:
    queue.push(1)
    process = holding(url)
    waiting = dibs.open(f"{url}&idle=600")
    got: list[Lease | None] = []
    thread = threading.Thread(target=lambda: got.append(waiting.claim(wait=60)))
    thread.start()
    until(lambda: waiting._workers._near, "word of the other worker")  # type: ignore[attr-defined]
    process.kill()
    process.communicate()
    thread.join(PATIENCE)
    assert [lease.epoch for lease in got if lease] == [2]
    waiting.close()


def test_a_stopped_worker_is_not_dead(url: str, queue: Queue) -> None:
    queue.push(1)
    process = holding(url)
    os.kill(process.pid, signal.SIGSTOP)
    try:
        assert queue.claim() is None
        assert [claim.pid for claim in queue.claimed()] == [process.pid]
    finally:
        process.kill()
        process.communicate()


def test_a_lease_of_no_process_is_left_alone(url: str, queue: Queue) -> None:
    queue.push_many([1, 2])
    with dibs.open(url, pid=None) as one, dibs.open(url, pid=None) as other:
        first, second = one.claim(ttl=600), other.claim(ttl=600)
    assert first is not None
    assert second is not None
    assert first.worker == second.worker
    assert first.token.holder != second.token.holder
    assert queue.claim() is None
    found = queue.lease(first.id, first.epoch)
    found.renew()
    found.complete()


def test_what_is_bound_to_another_process_goes_back_when_that_ends(url: str, queue: Queue) -> None:
    queue.push(1)
    other = subprocess.Popen(["sleep", "600"])
    with dibs.open(url, pid=other.pid) as claimer:
        assert claimer.claim(ttl=600) is not None
    assert queue.claim() is None
    other.kill()
    other.wait()
    assert queue.claim() is not None


def test_a_forked_child_is_a_worker_of_its_own(url: str, queue: Queue) -> None:
    queue.push_many(range(4))
    mine = queue.claim(ttl=60)
    assert mine is not None
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            lease = queue.claim(ttl=60)
            assert lease is not None
            os.write(writer, f"{lease.worker} {lease.id}".encode())
            lease.complete()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
    worker, task_id = os.read(reader, 1000).decode().split()
    assert worker != mine.worker
    assert task_id != mine.id
    mine.complete()
    assert queue.stats().states["completed"] == 2
