"""Many processes and threads: 64 connections, forks, and processes that die holding something."""

import os
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from dibs.queues.postgres import PostgresQueue
from dibs.states import State
from postgres.conftest import Open

MANY = 64
HOLD = """
import sys, dibs
queue = dibs.open(sys.argv[1])
lease = queue.claim(ttl=3600)
print(lease.id, flush=True)
sys.stdin.read()
"""


def test_64_connections_at_once(queue: PostgresQueue, open_queue: Open) -> None:
    ids = [task.id for task in queue.push_many(range(256))]
    queues = [open_queue() for _ in range(MANY)]
    start = threading.Barrier(MANY)

    def work(mine: PostgresQueue) -> list[str]:
        start.wait()
        taken = []
        while (lease := mine.claim()) is not None:
            lease.complete()
            taken.append(lease.id)
        return taken

    with ThreadPoolExecutor(MANY) as pool:
        taken = [task_id for part in pool.map(work, queues) for task_id in part]
    assert Counter(taken) == Counter(ids)


def test_threads_share_a_pool_that_is_smaller(open_queue: Open, place: str) -> None:
    queue = open_queue(place + "&pool_size=2")
    queue.push_many(range(60))
    with ThreadPoolExecutor(12) as pool:
        leases = list(pool.map(lambda _: queue.claim(), range(60)))
    assert len({lease.id for lease in leases if lease}) == 60
    assert len(queue._database.connections._all) <= 2


def test_a_fork_leaves_its_parent_s_connections_alone(queue: PostgresQueue) -> None:
    parent = queue.push("parent")
    lease = queue.claim()
    assert lease is not None
    before = list(queue._database.connections._all)
    pid = os.fork()
    if pid == 0:
        try:
            queue.push("child")
            child = queue.claim()
            os._exit(0 if child is not None and child.worker != lease.worker else 1)
        finally:
            os._exit(2)
    assert os.waitpid(pid, 0)[1] == 0
    lease.complete()
    assert queue._database.connections._all == before
    assert queue.get(parent.id).state is State.COMPLETED
    assert queue.stats().states["claimed"] == 1


def test_what_a_dead_process_held_is_taken_over_at_once(queue: PostgresQueue, place: str) -> None:
    task = queue.push("work")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, place], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline().strip() == task.id
    assert queue.claim() is None
    holder.kill()
    holder.communicate()
    lease = queue.claim()
    assert lease is not None
    assert (lease.id, lease.epoch, lease.task.deaths) == (task.id, 2, 1)
    (event,) = queue.detail(task.id).history
    assert event.what == "died"


def test_what_was_claimed_for_another_process_ends_with_it(queue: PostgresQueue, open_queue: Open) -> None:
    task = queue.push("work")
    sleeper = subprocess.Popen(["sleep", "600"])
    owned = open_queue(pid=sleeper.pid)
    assert owned.claim(ttl=3600) is not None
    assert queue.claim() is None
    sleeper.kill()
    sleeper.wait()
    lease = queue.claim()
    assert lease is not None and lease.id == task.id


def test_who_is_forgotten_holds_nothing(queue: PostgresQueue, open_queue: Open) -> None:
    """Rows of processes that are long gone are removed; one that holds something stays."""
    queue.push_many(range(2))
    held = open_queue()
    lease = held.claim(ttl=600)
    other = open_queue().claim()
    assert lease is not None and other is not None
    other.complete()
    database = queue._database
    database.get("forget", age=-1.0)
    left = {row[0] for row in database.get("beside", boot=queue.host.boot, session="")}
    assert left == {lease.worker}
    assert [claim.host for claim in queue.claimed()] == [queue.host.name]


def test_a_damaged_record_is_put_aside(queue: PostgresQueue) -> None:
    good, bad = queue.push("good", priority=0), queue.push("bad", priority=100)
    with queue._database.connections.one() as connection:
        connection.execute("UPDATE dibs.tasks SET record = '{' WHERE id = %s", (bad.id,))
    lease = queue.claim()
    assert lease is not None and lease.id == good.id
    detail = queue.detail(bad.id)
    assert (detail.task.state, detail.error) == (State.FAILED, "its record is damaged")
