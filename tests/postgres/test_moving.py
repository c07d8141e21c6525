"""`dibs move` to PostgreSQL and away again: whole tasks, as they stood."""

import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import psycopg
import pytest

import dibs
from dibs.errors import BadInput, FormatError
from dibs.moving import copy, move
from dibs.queues.postgres import PostgresQueue
from dibs.states import State
from dibs.syncing import sync
from dibs.task import NewTask
from moving.places import fill, look
from postgres.conftest import Open
from waiting import PATIENCE

SENT = {"failed": 1, "scheduled": 2, "ready": 4, "blocked": 2}


def program(*words: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([sys.executable, "-m", "dibs", *words], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_tasks_go_from_files_to_postgres_to_postgres_and_back(place: str, tmp_path: Path) -> None:
    files = f"file:{tmp_path}/files?sync=off"
    with dibs.open(files) as start:
        fill(start)
        before = look(start)
    for source, target in pairwise([files, place, f"{place}-other", files]):
        done = program("move", source, target)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("moved 9 tasks: 1 failed, 2 scheduled, 4 ready, 2 blocked\n")
        with dibs.open(source) as left, dibs.open(target) as there:
            assert look(there) == before
            assert look(left) == {}
            assert there.detail("done").result == {"made": 1}


def test_a_copy_adds_only_what_is_new(queue: PostgresQueue, tmp_path: Path) -> None:
    with dibs.open(f"file:{tmp_path}/files?sync=off") as files:
        fill(files)
        report = copy(files, queue)
        assert (report.sent, report.there, report.verified) == (SENT, 0, True)
        assert look(files) == look(queue)
        new = files.push({"n": "new"})
        report = copy(files, queue)
        assert (report.total, report.there, report.verified) == (10, 9, True)
        assert queue.get(new.id).state is State.READY


def test_a_dry_run_makes_no_queue(place: str, tmp_path: Path, open_queue: Open) -> None:
    files = f"file:{tmp_path}/files?sync=off"
    with dibs.open(files) as start:
        fill(start)
    open_queue()  # the tables are there
    for target in (f"{place}-new", place.replace("schema=dibs", "schema=not_there")):
        done = program("move", files, target, "--dry-run")
        assert (done.returncode, done.stdout) == (0, "would move 9 tasks: 1 failed, 2 scheduled, 4 ready, 2 blocked\n")
        with pytest.raises(FormatError):
            dibs.open(target, create=False)


def test_the_work_of_a_site_comes_down_and_goes_up(queue: PostgresQueue, place: str, tmp_path: Path) -> None:
    ids = {task.id for task in queue.push_many([1, 2, 3])}
    with dibs.open(f"file:{tmp_path}/here?sync=off") as here:
        born = here.push("born", key="b")
        ended = sync(here, place)
        assert (ended.sent, ended.conflicts) == (1, [])
        assert {claim.id for claim in queue.claimed()} == {*ids, born.id}
        for lease in here.claims(wait=0.0):
            lease.complete(f"did {lease.payload}")
        assert sync(here, place).completed == 4
    assert queue.detail("b").result == "did born"
    assert queue.stats().states["completed"] == 4


def test_to_follow_is_to_wait_for_what_is_held(queue: PostgresQueue, tmp_path: Path) -> None:
    queue.push("silent", key="s", priority="low")
    queue.push("released", key="r")
    released, silent = queue.claim(ttl=600), queue.claim(ttl=0.4)  # which is never renewed: its time has to be over
    assert released is not None and silent is not None and silent.payload == "silent"
    released.release(0.1)
    with dibs.open(f"file:{tmp_path}/files?sync=off") as files:
        report = move(queue, files, follow=True)
        assert (report.total, report.left, report.verified) == (2, {}, True)
        assert (files.get("s").state, files.get("s").deaths, files.get("s").epoch) == (State.READY, 1, 1)
        assert files.get("r").epoch == 1


def test_a_completion_that_only_the_row_tells_goes_along(queue: PostgresQueue, tmp_path: Path) -> None:
    done = queue.push("done", key="done", priority="high")
    lease = queue.claim()
    assert lease is not None
    lease.complete()
    queue.push("waits", after=["done", "unknown"])
    before = queue.detail(done.id).history
    assert [event.what for event in before] == ["completed"]
    with dibs.open(f"file:{tmp_path}/files?sync=off") as files:
        assert move(queue, files).along == 1
        assert files.detail("done").history == before
        queue.purge(older_than=0)
        assert move(files, queue).along == 1
    assert queue.detail("done").history == before


def test_thousands_go_in_few_statements(queue: PostgresQueue, open_queue: Open, place: str) -> None:
    other = open_queue(f"{place}-other")
    queue.push_many([NewTask(payload=n, key=f"k{n}" if n % 2 else None) for n in range(2000)])
    other.push("there", key="k1")
    before = Counter(queue.sent)
    report = move(queue, other)
    assert (report.total, report.verified, report.refused) == (1999, True, 1)
    here = Counter(queue.sent) - before
    assert (here["depart"], here["dismiss"], other.sent["admit"]) == (4, 4, 4)
    assert sum(here.values()) + other.sent["own"] + other.sent["stands"] < 100


def test_the_same_queue_by_another_name_is_found_out(queue: PostgresQueue, place: str, open_queue: Open) -> None:
    fill(queue)
    before = look(queue)
    same = open_queue(place.replace("postgres://dibs@", "postgresql://dibs:secret@"))
    assert same.address == queue.address
    assert "dibs@" not in queue.address
    with pytest.raises(BadInput, match="same queue"):
        move(queue, same)
    other = open_queue(place.replace("127.0.0.1", "localhost"))
    assert other.address != queue.address
    report = move(queue, other)
    assert (report.total, report.refused, report.left) == (0, 9, SENT)
    assert "by another name" in report.refusals[0].reason
    assert look(queue) == before


def test_a_damaged_record_stays(queue: PostgresQueue, tmp_path: Path) -> None:
    good, bad, swapped = queue.push("good"), queue.push("bad", key="bad"), queue.push("swapped")
    waits = queue.push("waits", after=["bad"])
    with queue._database.connections.one() as connection:
        connection.execute("UPDATE dibs.tasks SET record = '{' WHERE id = %s", (bad.id,))
        connection.execute(
            "UPDATE dibs.tasks t SET record = o.record FROM dibs.tasks o WHERE t.id = %s AND o.id = %s",
            (swapped.id, good.id),
        )
    with dibs.open(f"file:{tmp_path}/files?sync=off") as files:
        report = move(queue, files)
        assert (report.sent, report.held_back) == ({"ready": 1}, 1)
        assert [task.id for task in files.tasks()] == [good.id]
    assert {task.id for task in queue.tasks()} == {bad.id, swapped.id, waits.id}


def test_who_waits_is_told_of_what_comes_in(
    queue: PostgresQueue, open_queue: Open, place: str, connection: "psycopg.Connection[Any]"
) -> None:
    other = open_queue(f"{place}-other")
    queue.push(1)
    connection.execute(f"LISTEN {other._database.channel}".encode())
    move(queue, other)
    assert len(list(connection.notifies(timeout=20.0, stop_after=1))) == 1


def test_hostile_texts_arrive_as_they_were(queue: PostgresQueue, open_queue: Open, place: str) -> None:
    odd = "a\\b \\0 \0 \"c\" 'd' {e,f} %s \n é🦀 NULL"
    other = open_queue(f"{place}-other")
    queue.push({"odd": odd}, key=odd, project=odd, labels=[odd, "x"], max_attempts=1)
    lease = queue.claim()
    assert lease is not None
    lease.fail(odd)
    before = look(queue)
    assert move(queue, other).verified
    assert look(other) == before
    assert other.retry(odd).labels == (odd, "x")


def test_workers_and_movers_all_at_once(queue: PostgresQueue, open_queue: Open, place: str) -> None:
    places = place, f"{place}-other"
    ids = {task.id for task in queue.push_many([NewTask(payload=n, key=f"k{n}") for n in range(300)])}
    start, moved = threading.Barrier(4), threading.Event()

    def work(mine: PostgresQueue) -> list[str]:
        """On the source, too slow to drain it alone: most of what it takes it gives back."""
        done: list[str] = []
        start.wait()
        for turn in count():
            over = moved.is_set()
            lease = mine.claim(wait=0.02)
            if lease is not None and mine.url == place and turn % 3:
                lease.release()
            elif lease is not None:
                lease.complete()
                done.append(lease.id)
            elif over:
                break
        return done

    def carry(source: PostgresQueue, target: PostgresQueue) -> None:
        start.wait()
        report = move(source, target, follow=True)
        assert (report.on_the_way, report.refused) == (0, 0)

    with ThreadPoolExecutor(4) as pool:
        workers = [pool.submit(work, open_queue(at)) for at in places]
        movers = [pool.submit(carry, *map(open_queue, places)) for _ in range(2)]
        try:
            for mover in movers:
                mover.result(PATIENCE)
            move(*map(open_queue, places), follow=True)  # what one saw as moved on, when both met
        finally:
            moved.set()
        done = Counter(task_id for worker in workers for task_id in worker.result(PATIENCE))
    assert done == Counter(ids)
    assert open_queue(places[1]).stats().states["completed"] > 0
