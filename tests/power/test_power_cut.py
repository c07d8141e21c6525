"""Whenever the power goes, a push that returned is there afterwards: whole, and with what it is filtered by."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dibs.queues.files import FilesQueue
from dibs.stores.memory import MemoryStore
from dibs.task import NewTask
from dibs.testing import ManualClock
from disk.power import Cut, Disk, PowerFs

ROOT = "/deep/new/q"
CUTS = 4
Pushed = dict[str, NewTask]


def open_on(disk: Disk, stop_at: int | None = None, **options: Any) -> FilesQueue:
    fs = PowerFs(disk, stop_at)
    return FilesQueue(f"file:{ROOT}", ROOT, fs=fs, store=MemoryStore(), clock=ManualClock(), **{"shards": 4, **options})


def push_some(queue: FilesQueue) -> Iterator[Pushed]:
    """One step after another; each yields what has returned."""
    asked = [
        NewTask(payload="plain"),
        NewTask(payload="rich", project="p", labels=["a"], priority="high"),
        NewTask(payload="rich again", project="p", labels=["a"], priority="high"),
        NewTask(payload="later", delay=3600.0, project="later"),
    ]
    for new in asked:
        task = queue.push_many([new])[0]
        yield {task.id: new}
        blocked = NewTask(payload="after", after=[task.id], labels=["b"])
        yield {queue.push_many([blocked])[0].id: blocked}
    batch = [NewTask(payload=n, project=f"batch-{n % 2}") for n in range(7)]
    yield {task.id: new for task, new in zip(queue.push_many(batch), batch, strict=True)}


def push_and_work(queue: FilesQueue) -> Iterator[Pushed]:
    """Claims and their ends are not synced; they must not take a durable task with them."""
    for turn, pushed in enumerate(push_some(queue)):
        yield pushed
        lease = queue.claim()
        if lease is not None:
            match turn % 4:
                case 0:
                    lease.complete()
                case 1:
                    lease.release()
                case 2:
                    lease.fail("no")
                case _:
                    queue.cancel(lease.id)
    for lease in queue.claim_many(20):
        lease.complete("done")


def lost_in(disk: Disk, pushed: Pushed) -> list[str]:
    queue = open_on(disk)
    lost = []
    for task_id, new in pushed.items():
        task = queue.get(task_id)
        if task.payload != new.payload or tuple(task.labels) != tuple(new.labels) or task.project != new.project:
            lost.append(f"{new} is now {task}")
        if new.project and not any(found.id == task_id for found in queue.tasks(project=new.project)):
            lost.append(f"{new} is not found by its project")
    return lost


def cut_everywhere(
    work: Callable[[FilesQueue], Iterator[Pushed]], *, strict: bool, **options: Any
) -> tuple[int, list[str]]:
    """(points, what was lost) when the power goes before each change or sync of the work."""
    failures: list[str] = []
    point = 0
    while True:
        point += 1
        disk, pushed = Disk(), {}
        try:
            for returned in work(open_on(disk, point, **options)):
                pushed |= returned
            finished = True
        except Cut:
            finished = False
        for seed in range(CUTS):
            try:
                lost = lost_in(disk.cut(random.Random(seed), strict=strict), pushed)
            except Exception as error:
                lost = [f"{type(error).__name__}: {error}"]
            failures += [f"cut before change {point}, seed {seed}: {what}" for what in lost]
        if finished or failures:
            return point, failures


def test_a_returned_push_survives_any_cut() -> None:
    points, failures = cut_everywhere(push_some, strict=True)
    assert failures == []
    assert points > 80


def test_working_on_tasks_loses_none_of_them() -> None:
    points, failures = cut_everywhere(push_and_work, strict=False)
    assert failures == []
    assert points > 120


def test_a_changed_priority_survives_any_cut() -> None:
    point = 0
    over = False
    while not over:
        point += 1
        disk, pushed, asked = Disk(), [], {50}
        try:
            queue = open_on(disk, point)
            pushed.append(queue.push(1, project="p").id)
            asked.add(77)
            queue.set_priority(pushed[0], 77)
            asked, over = {77}, True
        except Cut:
            pass
        for seed in range(CUTS if pushed else 0):
            found = list(open_on(disk.cut(random.Random(seed), strict=False)).tasks(project="p"))
            assert [task.id for task in found] == pushed, f"cut before change {point}, seed {seed}"
            assert {task.priority for task in found} <= asked
    assert point > 20


def test_without_sync_a_push_may_be_lost() -> None:
    """The disk of these tests does lose things; and sync=off does what it says."""
    _, failures = cut_everywhere(push_some, strict=True, sync=False)
    assert failures


@pytest.mark.parametrize("strict", [True, False])
def test_what_another_process_left_half_done_takes_no_push_with_it(strict: bool) -> None:
    """One pusher dies, or sleeps, at any point; another pushes after it and returns; then the power goes.

    On the strict disk the queue is there already: folders above it that a dead creator did not sync nobody can know.
    """
    stop_at = 0
    died = True
    while died:
        stop_at += 1
        disk, pushed = Disk(), {}
        if strict:
            open_on(disk)
        died = False
        try:
            for _ in push_some(open_on(disk, stop_at)):
                pass
        except Cut:
            died = True
        for returned in push_some(open_on(disk)):
            pushed |= returned
            if len(pushed) == 4:
                break
        for seed in range(2):
            after = disk.cut(random.Random(seed), strict=strict)
            assert lost_in(after, pushed) == [], f"stopped at {stop_at}, seed {seed}"


@pytest.mark.parametrize("broken", ["sync_folder", "sync_all", "write"])
def test_a_queue_that_forgets_to_sync_is_caught(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = PowerFs.write
    if broken == "write":
        monkeypatch.setattr(PowerFs, "write", lambda fs, path, data, sync=False: real(fs, path, data))
    else:
        monkeypatch.setattr(PowerFs, broken, lambda fs, path: None)
    _, failures = cut_everywhere(push_some, strict=True)
    assert failures
