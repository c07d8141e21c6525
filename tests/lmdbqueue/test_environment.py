"""The environment: a file that grows under load, forks, threads, readers, a full disk."""

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lmdb
import pytest

import dibs
from children import environment
from dibs.errors import LeaseLost, StorageError
from dibs.queues.queue import Queue
from dibs.task import NewTask
from lmdbqueue.whole import check_whole
from waiting import PATIENCE

SMALL = "sync=off&map=65536"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"lmdb:{tmp_path}/q?{SMALL}"


@pytest.fixture
def queue(url: str) -> Iterator[Queue]:
    with dibs.open(url) as opened:
        yield opened
        check_whole(opened)


def drained(queue: Queue) -> list[str]:
    done = []
    while leases := queue.claim_many(50):
        assert queue.complete_many(leases) == []
        done += [lease.id for lease in leases]
    return done


def test_the_file_grows_with_what_is_pushed(queue: Queue, tmp_path: Path) -> None:
    file = tmp_path / "q" / "data.mdb"
    assert file.stat().st_size == 65536
    for n in range(100):
        queue.push({"n": n, "pad": "x" * 1000})
    large = queue.push("y" * 30_000_000)
    queue.push_many({"n": n, "pad": "z" * 3000} for n in range(3000))
    assert queue.stats().states["ready"] == 3101
    assert queue.get(large.id).payload == "y" * 30_000_000
    dibs.open(f"lmdb:{tmp_path}/new").close()
    for known in (file.stat(), (tmp_path / "new" / "data.mdb").stat()):
        assert known.st_blocks * 512 >= known.st_size, "a hole would kill whoever writes there on a full disk"
    assert len(drained(queue)) == 3101


def test_the_file_grows_under_threads(queue: Queue) -> None:
    def work(part: int) -> list[str]:
        ids = [queue.push({"part": part, "pad": "x" * 20_000}).id for _ in range(40)]
        for lease in queue.claim_many(20):
            lease.complete("y" * 10_000)
        return ids

    with ThreadPoolExecutor(6) as pool:
        pushed = [task_id for ids in pool.map(work, range(6)) for task_id in ids]
    assert queue.stats().states["completed"] == 120
    assert len(drained(queue)) == 120
    assert {task.id for task in queue.tasks("completed")} == set(pushed)


def test_the_file_grows_under_processes(queue: Queue, url: str) -> None:
    code = (
        "import sys, dibs\n"
        "queue = dibs.open(sys.argv[1])\n"
        "for n in range(60):\n"
        "    queue.push('x' * 50_000)\n"
        "    queue.claim().complete()\n"
    )
    words = [sys.executable, "-c", code, url]
    processes = [subprocess.Popen(words, env=environment()) for _ in range(3)]
    while any(process.poll() is None for process in processes):
        queue.stats()
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert queue.stats().states["completed"] == 180


def test_a_forked_child_goes_on_by_itself(queue: Queue) -> None:
    queue.push_many(range(3))
    mine = queue.claim()
    assert mine is not None
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            lease = queue.claim()
            assert lease is not None
            assert lease.worker != mine.worker
            lease.complete()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
    mine.complete()
    assert queue.stats().states["completed"] == 2
    assert len(queue.claim_many(5)) == 1


def test_a_child_may_be_forked_while_other_threads_work(queue: Queue) -> None:
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            queue.push("x" * 100)
            for lease in queue.claim_many(2):
                lease.complete()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(10):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                signal.alarm(60)
                queue.push("child", key=f"child-{os.getpid()}", delay=1000.0)
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(pid, 0)[1] == 0
    over.set()
    for thread in threads:
        thread.join()
    assert queue.stats().states["scheduled"] == 10


def test_many_threads_take_every_kind_of_step(queue: Queue) -> None:
    seed = random.randrange(10**6)
    print("seed", seed)

    def work(part: int) -> None:
        rng = random.Random(seed + part)
        for n in range(40):
            after = [f"{part - 1}-{n}"] if n % 7 == 0 else []
            queue.push(n, key=f"{part}-{n}", project=f"p{n % 3}", labels=[f"l{n % 2}"], after=after, backoff=0.0)
            lease = queue.claim(project=f"p{n % 2}") if n % 2 else queue.claim()
            if lease is None:
                continue
            try:
                step = rng.randrange(6)
                if step == 0:
                    queue.cancel(lease.id)
                elif step == 1:
                    lease.fail("no")
                elif step == 2:
                    lease.release(delay=rng.random() / 100)
                elif step == 3:
                    queue.complete_many([lease])
                else:
                    lease.renew()
                    lease.complete({"n": n})
            except LeaseLost:
                pass

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    check_whole(queue)
    drained(queue)
    queue.purge("completed", older_than=0)
    queue.purge("cancelled", older_than=0)


def test_one_process_may_open_it_many_times(queue: Queue, url: str) -> None:
    others = [dibs.open(url) for _ in range(3)]
    others[0].push("a")
    for other in others:
        other.close()
        other.close()
    assert queue.claim() is not None


def test_too_many_readers_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dibs.queues.lmdb.environment.READERS", 3)
    inside, over = threading.Semaphore(0), threading.Event()

    def look(_: object) -> None:
        inside.release()
        over.wait(PATIENCE)

    with dibs.open(f"lmdb:{tmp_path}/q?{SMALL}") as queue:
        database = queue._database  # type: ignore[attr-defined]
        with ThreadPoolExecutor(3) as pool:
            waiting = [pool.submit(database.read, look) for _ in range(3)]
            for _ in range(3):
                inside.acquire(timeout=60)
            with pytest.raises(StorageError, match="readers at once"):
                queue.stats()
            queue.push("writers need no place among them")
            over.set()
            for waited in waiting:
                waited.result()
        assert queue.stats().states["ready"] == 1


def test_who_is_killed_while_it_looks_does_not_make_the_file_grow(queue: Queue, url: str, tmp_path: Path) -> None:
    code = (
        "import sys, dibs\n"
        "def look(txn):\n"
        "    txn.get(b'x')\n"
        "    print('inside', flush=True)\n"
        "    sys.stdin.read()\n"
        "dibs.open(sys.argv[1])._database.read(look)\n"
    )
    pipe = subprocess.PIPE
    words = [sys.executable, "-c", code, url]
    process = subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, env=environment())
    assert process.stdout is not None
    assert process.stdout.readline() == "inside\n"
    process.kill()
    process.communicate()
    for _ in range(100):
        queue.push("x" * 50_000)
        drained(queue)
        assert queue.purge("completed", older_than=0) == 1
    assert (tmp_path / "q" / "data.mdb").stat().st_size <= 3_000_000


def test_what_goes_wrong_in_a_step_leaves_all_as_it_was(queue: Queue) -> None:
    queue.push_many(range(3))
    database = queue._database  # type: ignore[attr-defined]
    before = database.last

    def break_it(txn: object) -> None:
        txn.put(b"x", b"y")  # type: ignore[attr-defined]
        raise RuntimeError

    with pytest.raises(RuntimeError):
        database.write(break_it)
    assert database.last == before
    assert len(queue.claim_many(5)) == 3


@pytest.mark.parametrize("step", ["push", "claim", "complete"])
def test_a_full_disk_is_said_and_costs_nothing(tmp_path: Path, step: str) -> None:
    url = f"lmdb:{tmp_path}/q?map=65536"
    code = (
        "import resource, sys, dibs, dibs.errors\n"
        f"queue = dibs.open({url!r})\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))\n"
        "try:\n"
        "    for n in range(1000):\n"
        "        print(queue.push('x' * 10_000).id, flush=True)\n"
        f"        lease = queue.claim() if {step!r} != 'push' else None\n"
        f"        if {step!r} == 'complete': lease.complete('y' * 10_000)\n"
        "except dibs.errors.StorageError as error:\n"
        "    print(error, file=sys.stderr)\n"
        "    queue.stats()\n"
    )
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, env=environment(), check=True)
    assert "storage refused" in done.stderr
    assert "data.mdb" in done.stderr
    assert done.stderr.count("\n") == 1
    acknowledged = done.stdout.split()
    assert len(acknowledged) > 10
    with dibs.open(url) as queue:
        assert set(acknowledged) <= {task.id for task in queue.tasks()}
        queue.push("again")
        check_whole(queue)


def test_a_batch_is_whole_though_the_file_had_to_grow_for_it(queue: Queue) -> None:
    items = [NewTask(payload="x" * 500, key=f"k{n % 500}") for n in range(1000)]
    pushed = queue.push_many(items)
    assert [task.duplicate for task in pushed] == [False] * 500 + [True] * 500
    assert queue.stats().states["ready"] == 500


@pytest.mark.parametrize("sync", ["on", "off"])
def test_a_file_whose_maker_died_is_made_to_its_length(tmp_path: Path, sync: str) -> None:
    lmdb.open(f"{tmp_path}/q", map_size=1 << 20).close()
    file = tmp_path / "q" / "data.mdb"
    assert file.stat().st_size < 1 << 16
    with dibs.open(f"lmdb:{tmp_path}/q?sync={sync}") as queue:
        assert file.stat().st_size == 4 << 20
        queue.push(1)
        assert queue.claim() is not None
