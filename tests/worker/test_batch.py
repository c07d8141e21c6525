"""Workers that claim and complete many short tasks together."""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import dibs
from dibs.errors import BadInput
from dibs.queues.queue import Queue
from dibs.states import State
from dibs.testing import ManualClock
from dibs.worker.batch import LONG_SECONDS, Batch
from dibs.worker.job import Job
from dibs.worker.supervisor import Supervisor
from waiting import until

from .conftest import NOTED, lines

Supervise = Callable[..., Supervisor]
Module = Callable[[str], None]


@pytest.fixture(params=["file", "lmdb"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where all leases of a process share a handle, and where each has its own."""
    return f"{request.param}:{tmp_path}/queue"


@pytest.fixture
def queue(url: str) -> Iterator[Queue]:
    with dibs.open(url) as opened:
        yield opened


def counts(queue: Queue) -> dict[str, int]:
    return {str(state): count for state, count in queue.stats().states.items() if count}


def test_all_are_completed_once_with_their_results(
    queue: Queue, module: Module, supervise: Supervise, tmp_path: Path
) -> None:
    module(f"def run(n):\n    open({str(tmp_path / 'log')!r}, 'a').write(f'{{n}}\\n')\n    return n * 2")
    tasks = queue.push_many(range(137))
    supervisor = supervise(workers=2, call="jobs:run", batch=20, until_empty=True)
    supervisor.join()
    assert Counter(map(int, lines(tmp_path / "log"))) == dict.fromkeys(range(137), 1)
    assert supervisor.totals().completed == 137
    assert [queue.detail(task.id).result for task in tasks] == [n * 2 for n in range(137)]


def test_one_that_fails_fails_alone(queue: Queue, module: Module, supervise: Supervise) -> None:
    module("def run(n):\n    if n == 3: raise ValueError('three')\n    return object() if n == 4 else n")
    tasks = queue.push_many(dibs.NewTask(payload=n, max_attempts=1) for n in range(10))
    supervisor = supervise(call="jobs:run", batch=10, until_empty=True)
    supervisor.join()
    assert counts(queue) == {"completed": 8, "failed": 2}
    assert "three" in queue.detail(tasks[3].id).error
    assert "its result cannot be kept" in queue.detail(tasks[4].id).error
    assert (supervisor.totals().completed, supervisor.totals().failed) == (8, 2)


def test_nothing_waits_behind_one_that_takes_long(queue: Queue, module: Module, supervise: Supervise) -> None:
    module("import time\ndef run(n): time.sleep(60 if n == 2 else 0)")
    tasks = queue.push_many(range(10))
    supervisor = supervise(call="jobs:run", batch=10, ttl=60.0)
    until(lambda: counts(queue), "the rest to be given back", equals={"completed": 2, "claimed": 1, "ready": 7})
    assert queue.get(tasks[2].id).state is State.CLAIMED
    assert all(task.attempts == task.deaths == 0 for task in queue.tasks("ready"))
    supervisor.kill()


def test_a_stop_gives_back_what_has_not_begun(
    queue: Queue, module: Module, supervise: Supervise, tmp_path: Path
) -> None:
    module(NOTED + f"def run(n, lease): until_told(lease, {str(tmp_path / 'log')!r})")
    queue.push_many(range(10))
    supervisor = supervise(call="jobs:run", batch=10)
    until(lambda: lines(tmp_path / "log"), "the first to begin")
    supervisor.stop()
    supervisor.join()
    assert len(lines(tmp_path / "log")) == 1
    assert counts(queue) == {"completed": 1, "ready": 9}


def test_what_a_killed_runner_had_not_recorded_runs_again(
    queue: Queue, module: Module, supervise: Supervise, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    module(
        f"import os, time\ndef run(n):\n"
        f"    with open({str(log)!r}, 'a') as file: file.write(f'{{n}} {{os.getpid()}}\\n')\n"
        f"    if n == 50 and not os.path.exists({str(log)!r} + '.again'):\n"
        f"        open({str(log)!r} + '.again', 'w').close()\n"
        f"        time.sleep(60)\n"
    )
    queue.push_many(range(100))
    supervisor = supervise(call="jobs:run", batch=100, ttl=600.0, until_empty=True)
    until((tmp_path / "log.again").exists, "fifty to be run")
    pid = int(lines(log)[50].split()[1])
    os.kill(pid, signal.SIGKILL)
    supervisor.join()
    assert counts(queue) == {"completed": 100}
    ran = Counter(int(line.split()[0]) for line in lines(log))
    assert set(ran) == set(range(100))
    assert max(ran.values()) == 2


def test_a_batch_is_recorded_and_given_back_by_another_thread() -> None:
    clock = ManualClock()
    with dibs.open("memory:", clock=clock) as queue:
        queue.push_many(range(5))
        batch = Batch(queue, queue.claim_many(5, ttl=60))
        first = batch.next()
        assert first is not None
        batch.done(first, "kept")
        second = batch.next()
        batch.unload()
        assert counts(queue) == {"claimed": 5}, "it is not long yet"
        clock.advance(LONG_SECONDS)
        batch.unload()
        assert counts(queue) == {"claimed": 1, "completed": 1, "ready": 3}
        assert second is not None
        batch.done(second, None)
        assert batch.next() is None
        assert batch.record() == []
        assert counts(queue) == {"completed": 2, "ready": 3}
        assert [lease.state for lease in batch.ended] == ["completed", *["released"] * 3, "completed"]


@pytest.mark.parametrize("more", [{"batch": 0}, {"batch": 1001}, {"batch": 2, "max_tasks": 5}])
def test_what_is_no_batch_is_refused(more: dict[str, int]) -> None:
    with pytest.raises(BadInput, match="batch"):
        Job(url="memory:", call="a:b", **more).checked()  # type: ignore[arg-type]


def test_the_command_line_takes_a_batch(queue: Queue, url: str, module: Module) -> None:
    module("def run(n): return n")
    queue.push_many(range(30))
    words = ["work", url, "--batch", "7", "--until-empty", "--call", "jobs:run"]
    done = subprocess.run([sys.executable, "-m", "dibs", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "30 completed" in done.stderr


@pytest.mark.parametrize("url", ["lmdb"], indirect=True)
def test_the_next_batch_comes_with_the_completion_of_the_last(
    queue: Queue, module: Module, supervise: Supervise, tmp_path: Path
) -> None:
    module(f"""
from dibs.queues.lmdb.database import Database

inner = Database.write

def write(self, *args, **more):
    with open({str(tmp_path / "log")!r}, "a") as file:
        file.write("x\\n")
    return inner(self, *args, **more)

Database.write = write

def run(n):
    pass
""")
    queue.push_many(range(200))
    supervise(call="jobs:run", batch=20, until_empty=True).join()
    assert counts(queue) == {"completed": 200}
    assert len(lines(tmp_path / "log")) < 18  # one for each of ten batches, and some around; two for each would be 20
