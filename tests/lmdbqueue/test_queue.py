"""The queue in LMDB: killed processes, a full disk, syncs, settings."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import dibs
from children import command, environment
from dibs.errors import BadInput, FormatError
from dibs.queues.queue import Queue

TASKS, KILLS = (1500, 200) if os.environ.get("DIBS_LONG") else (300, 10)


def transactions(queue: Queue) -> int:
    count: int = queue._store._env()._env.info()["last_txnid"]  # type: ignore[attr-defined]
    return count


@pytest.mark.parametrize("sync", ["on", "off"])
def test_a_call_is_one_transaction(tmp_path: Path, sync: str) -> None:
    with dibs.open(f"lmdb:{tmp_path}/q?sync={sync}") as queue:
        flags = queue._store._env()._env.flags()  # type: ignore[attr-defined]
        assert flags["sync"] is (sync == "on")
        counts = [transactions(queue)]

        def counted() -> int:
            counts.append(transactions(queue))
            return counts[-1] - counts[-2]

        queue.push_many(range(300))
        assert counted() == 1
        queue.push(1, key="k", after=["other"])
        assert counted() == 1
        leases = queue.claim_many(100)
        assert (len(leases), counted()) == (100, 1)
        leases[0].renew()
        assert counted() == 1
        assert queue.complete_many(leases) == []
        assert counted() == 1
        lease = queue.claim()
        assert lease is not None
        lease.complete()
        assert counted() <= 2


def test_an_idle_claimer_writes_nothing(tmp_path: Path) -> None:
    with dibs.open(f"lmdb:{tmp_path}/q?sync=off") as queue:
        before = transactions(queue)
        for _ in range(20):
            assert queue.claim() is None
        assert transactions(queue) == before


def start(role: str, url: str, count: int = 0) -> "subprocess.Popen[str]":
    pipe = subprocess.PIPE
    words = command("redisqueue.hand", role, url, str(count))
    return subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, env=environment())


def told(process: "subprocess.Popen[str]") -> list[list[str]]:
    """What it said before it was killed; its last line may be cut."""
    out, _ = process.communicate(timeout=120)
    assert process.returncode in (0, -signal.SIGKILL)
    return [json.loads(line) for line in out.splitlines(keepends=True) if line.endswith("\n")]


@pytest.mark.parametrize("sync", ["on", "off"])
def test_processes_killed_at_random_lose_nothing(quick_folder: Path, sync: str) -> None:
    seed = random.randrange(10**6)
    rng = random.Random(seed)
    url = f"lmdb:{quick_folder}/q?sync={sync}&map=65536"
    queue = dibs.open(url)
    lines: list[list[str]] = []
    running = {role: start(role.strip("12"), url, TASKS // 4) for role in ("push1", "push2", "work1", "work2")}
    kills = 0
    while kills < KILLS or queue.stats().states["completed"] < TASKS:
        time.sleep(rng.random() / 4)
        role = rng.choice(sorted(running))
        running[role].kill()
        kills += 1
        lines += told(running[role])
        running[role] = start(role.strip("12"), url, TASKS // 4)
    for role in ("push1", "push2"):
        running[role].kill()
    for role in sorted(running):
        lines += told(running[role])
    for process in [start("work", url), start("work", url)]:
        lines += told(process)
    pushed = {value for what, value in lines if what == "pushed"}
    completed = Counter(value for what, value in lines if what == "completed")
    ended = {task.id: queue.detail(task.id) for task in queue.tasks("completed")}
    states = queue.stats().states
    assert sum(states.values()) == states["completed"], f"seed {seed}: {states}"
    assert pushed <= set(ended), f"seed {seed}: lost"
    assert set(completed) <= set(ended), f"seed {seed}: undone"
    assert max(completed.values()) == 1, f"seed {seed}: completed twice"
    done = [[event.what for event in detail.history].count("completed") for detail in ended.values()]
    assert set(done) == {1}, f"seed {seed}: recorded twice"
    queue.close()


def test_a_full_disk_is_said_and_costs_nothing(tmp_path: Path) -> None:
    url = f"lmdb:{tmp_path}/q"
    code = (
        "import resource, sys, dibs\n"
        f"queue = dibs.open({url!r})\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))\n"
        "try:\n"
        "    for n in range(1000): print(queue.push('x' * 10_000).id, flush=True)\n"
        "except dibs.errors.StorageError as error:\n"
        "    print(error, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import dibs.errors\n{code}"],
        capture_output=True,
        text=True,
        env=environment(),
        check=True,
    )
    assert "LMDB refused" in done.stderr
    assert done.stderr.count("\n") == 1
    acknowledged = done.stdout.split()
    assert len(acknowledged) > 10
    with dibs.open(url) as queue:
        assert set(acknowledged) <= {task.id for task in queue.tasks("ready")}
        queue.push("again")


@pytest.mark.parametrize(
    ("query", "words"),
    [("sync=maybe", "sync=maybe"), ("colour=red", "colour"), ("map=big", "map"), ("retention=x", "x")],
)
def test_settings_that_are_none(tmp_path: Path, query: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        dibs.open(f"lmdb:{tmp_path}/q?{query}")
    assert not (tmp_path / "q").exists()


def test_a_queue_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no queue"):
        dibs.open(f"lmdb:{tmp_path}/q", create=False)
    assert not (tmp_path / "q").exists()
    with pytest.raises(BadInput, match="names no folder"):
        dibs.open("lmdb:")


def test_without_the_driver_the_way_to_it_is_named(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['lmdb'] = None\n"
        "import dibs, dibs.errors\n"
        f"try: dibs.open('lmdb:{tmp_path}/q')\n"
        "except dibs.errors.MissingExtra as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment())
    assert "pip install 'dibs[lmdb]'" in done.stdout


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
