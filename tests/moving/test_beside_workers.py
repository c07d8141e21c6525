"""Workers on both queues, and several movers, all at once: each task is completed once, in one of the two."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dibs.moving import Report, move
from dibs.states import State
from dibs.task import NewTask
from waiting import PATIENCE

from .places import open_place

TASKS = 400
DEADLINE_SECONDS = PATIENCE / 2


@pytest.mark.parametrize(("one", "other"), [("file", "file"), ("stored", "file"), ("file", "memory")])
def test_each_task_is_completed_once(one: str, other: str, quick_folder: Path) -> None:
    places = (one, f"{quick_folder}/a"), (other, f"{quick_folder}/b")
    source, target = (open_place(*place) for place in places)
    chain = [NewTask(payload=n, key=f"k{n}", after=[f"k{n - 1}"] if n % 5 else ()) for n in range(40)]
    plain = [NewTask(payload=n, max_attempts=50, backoff=0.01) for n in range(40, TASKS)]
    ids = {task.id for task in source.push_many([*chain, *plain])}
    start = threading.Barrier(5)
    moved = threading.Event()

    def work(place: tuple[str, str], last: bool) -> list[str]:
        """On the source, too slow to drain it alone: most of what it takes it gives back."""
        done = []
        queue = open_place(*place)
        start.wait()
        turn = 0
        until = queue.clock.boottime() + DEADLINE_SECONDS
        while queue.clock.boottime() < until:
            lease = queue.claim(ttl=30, wait=0.02)
            if lease is None:
                if moved.is_set() and (not last or completed() == len(ids)):
                    return done
                continue
            turn += 1
            if turn % 3 == 0 or last:
                lease.complete()
                done.append(lease.id)
            elif turn % 3 == 1 and lease.task.max_attempts > 3:
                lease.fail("again")
            else:
                lease.release()
        both = [(each, task) for each in (source, target) for task in each.tasks()]
        stuck = [(each, task) for each, task in both if task.state is not State.COMPLETED]
        told = [(each.url, task.payload, task.state, each.why(task.id).text) for each, task in stuck]
        nowhere = ids - {task.id for _, task in both} - {parcel.id for parcel in source.gate().departed()}
        raise AssertionError(f"stuck: {told}; nowhere: {nowhere}")

    def completed() -> int:
        return len({task.id for each in (source, target) for task in each.tasks(State.COMPLETED)})

    def carry(number: int) -> Report:
        mine = [open_place(*place) for place in places]
        start.wait()
        return move(mine[0], mine[1], follow=True)

    with ThreadPoolExecutor(5) as pool:
        workers = [pool.submit(work, places[n % 2], n % 2 == 1) for n in range(3)]
        movers = [pool.submit(carry, n) for n in range(2)]
        for mover in movers:
            report = mover.result(PATIENCE)
            assert report.on_the_way == 0
            assert report.refused == 0
        left = move(source, target, follow=True)  # what a mover saw as moved on, when both met
        assert (left.left, left.on_the_way, left.verified) == ({}, 0, True)
        moved.set()
        done = Counter(task_id for worker in workers for task_id in worker.result(PATIENCE))
    assert done == Counter(ids)
    here = {task.id for task in source.tasks(State.COMPLETED)}
    there = {task.id for task in target.tasks(State.COMPLETED)}
    assert here | there == ids
    assert there
    assert Counter(task.state for task in target.tasks() if task.state is not State.COMPLETED) == Counter()
    assert list(source.gate().departed()) == []
