"""`with lease:` in a real worker process: its heart beats while it works, and cleans up after it."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.errors import LeaseLost
from dibs.queues.queue import Queue
from dibs.states import State
from waiting import PATIENCE, until

from .conftest import alive, kept_beyond_ttl, lines

Program = Callable[..., Any]
WORKER = """
import ctypes, json, os, subprocess, sys, time
import dibs
from dibs.errors import LeaseLost
queue = dibs.open({url!r})
def note(*words):
    with open({log!r}, "a") as file:
        file.write(" ".join(map(str, words)) + "\\n")
"""


@pytest.fixture
def worker(program: Program, url: str, tmp_path: Path) -> Callable[[str], Any]:
    """A process that runs `source` with `queue` and `note(…)`; what it notes is in `log`."""

    def start(source: str) -> Any:
        head = WORKER.format(url=url, log=str(tmp_path / "log"))
        return program("-c", head + source)

    return start


@pytest.fixture
def log(tmp_path: Path) -> Callable[[], list[str]]:
    return lambda: lines(tmp_path / "log")


def test_kept_while_the_gil_is_held(worker: Any, queue: Queue, other: Queue, log: Any, tmp_path: Path) -> None:
    """A read by PyDLL holds the GIL throughout: no thread of the worker can run."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    queue.push(str(gate))
    process = worker("""
with queue.claim(ttl=1.8) as lease:
    gate = os.open(lease.payload, os.O_RDWR)
    note("in")
    ctypes.PyDLL(None).read(gate, ctypes.create_string_buffer(1), 1)
note("out")
""")
    until(lambda: log(), "the worker to start", equals=["in"])
    kept_beyond_ttl(queue, other)
    assert process.poll() is None, "the worker died"
    gate.write_text("x")
    assert process.wait(PATIENCE) == 0
    assert log() == ["in", "out"]
    (task,) = queue.tasks()
    assert (task.state, task.epoch) == (State.COMPLETED, 1)


def test_a_heart_that_starts_slowly_costs_no_lease(
    worker: Any, queue: Queue, other: Queue, log: Any, module: Callable[..., str], tmp_path: Path
) -> None:
    """It takes longer than the TTL to start; until it has the lease, the worker renews it."""
    module(
        f"""
        import os, sys, time
        while 'dibs.worker.heart' in sys.orig_argv and not os.path.exists({str(tmp_path / "go")!r}): time.sleep(0.01)
        """,
        "sitecustomize",
    )
    queue.push("x")
    process = worker("""
lease = queue.claim(ttl=1.8)
note("claimed")
with lease: note("in", lease.epoch, lease.held)
""")
    until(lambda: log(), "the claim")
    kept_beyond_ttl(queue, other)
    assert log() == ["claimed"]
    (tmp_path / "go").touch()
    assert process.wait(PATIENCE) == 0
    assert log() == ["claimed", "in 1 True"]


def test_a_stopped_worker_loses_its_lease_and_is_refused(worker: Any, queue: Queue, log: Any) -> None:
    queue.push("x")
    process = worker("""
try:
    with queue.claim(ttl=1.8) as lease:
        note("in")
        while lease.held: time.sleep(0.01)
        note("not held")
except LeaseLost:
    note("refused")
""")
    until(lambda: log(), "the worker to start", equals=["in"])
    os.kill(process.pid, signal.SIGSTOP)
    lease = until(lambda: queue.claim(ttl=30), "the lease to run out")
    assert lease.epoch == 2
    os.kill(process.pid, signal.SIGCONT)
    assert process.wait(PATIENCE) == 0
    assert log() == ["in", "not held", "refused"]
    lease.complete("second")
    assert queue.detail(lease.id).result == "second"


def test_a_lease_that_ran_out_is_refused_though_nobody_took_it(worker: Any, queue: Queue, log: Any) -> None:
    task = queue.push("x")
    process = worker("""
try:
    with queue.claim(ttl=1.8) as lease:
        note("in")
        while lease.state == "held": time.sleep(0.01)
except LeaseLost:
    note("refused")
""")
    until(lambda: log(), "the worker to start", equals=["in"])
    os.kill(process.pid, signal.SIGSTOP)
    until(lambda: all(queue.clock.wall() > claim.expires_at + 1.0 for claim in queue.claimed()), "its TTL to pass")
    os.kill(process.pid, signal.SIGCONT)
    assert process.wait(PATIENCE) == 0
    assert log() == ["in", "refused"]
    assert queue.get(task.id).state is not State.COMPLETED


def test_children_of_a_killed_worker_are_dead_before_its_task_goes_on(
    program: Program, url: str, queue: Queue, tmp_path: Path
) -> None:
    queue.push("x")
    beats = tmp_path / "beats"
    child = f"""
import time
while True:
    with open({str(beats)!r}, "a") as file: file.write(f"{{time.monotonic()}}\\n")
    time.sleep(0.002)
"""
    source = f"""
import dibs, subprocess, sys
with dibs.open({url!r}).claim(ttl=3600) as lease:
    subprocess.run([sys.executable, "-c", {child!r}], start_new_session=True)
"""
    process = program("-c", source)
    until(lambda: len(lines(beats)) > 5, "the child to run")
    process.kill()
    lease = until(lambda: queue.claim(), "the task to be given back, long before its TTL")
    taken = time.monotonic()
    count = len(lines(beats))
    assert float(lines(beats)[-1]) < taken
    process.wait()
    settled = time.monotonic() + 0.2
    until(lambda: time.monotonic() > settled)
    assert len(lines(beats)) == count, "the child went on after its task had gone to another"
    assert lease.epoch == 2
    assert lease.task.deaths == 1


def test_max_runtime_ends_it_though_the_heart_beats(worker: Any, queue: Queue, log: Any) -> None:
    queue.push("first", priority="high")
    queue.push("x", max_runtime=1.0, backoff=0)
    process = worker("""
with queue.claim(ttl=30): pass  # now there is a heart
try:
    with queue.claim(ttl=30) as lease:
        note("in")
        while lease.state == "held": time.sleep(0.01)
        note("told", lease.held)
except LeaseLost:
    note("refused")
""")
    lease = until(lambda: log() and queue.claim(), "it to be given to another")
    assert process.wait(PATIENCE) == 0
    assert log() == ["in", "told False", "refused"]
    assert lease.task.attempts == 1
    assert "max_runtime" in queue.detail(lease.id).history[0].error


def test_many_leases_cost_one_heart(queue: Queue) -> None:
    queue.push_many(range(50))
    hearts = set()
    for lease in queue.claims(ttl=30):
        with lease:
            hearts.add(queue._heart._process.pid)
    assert len(hearts) == 1
    assert queue.stats().states[State.COMPLETED] == 50


def test_close_ends_the_heart(queue: Queue) -> None:
    queue.push(1)
    with queue.claim(ttl=30):  # type: ignore[union-attr]
        heart = queue._heart._process.pid
        assert alive(heart)
    queue.close()
    assert not alive(heart)


def test_a_heart_that_was_killed_is_replaced(queue: Queue, other: Queue) -> None:
    queue.push(1)
    with queue.claim(ttl=4) as lease:  # type: ignore[union-attr]
        first = queue._heart._process.pid
        old_enough = queue._heart._born + 1.1  # or it would be said that none can live here
        until(lambda: queue.clock.boottime() > old_enough)
        os.kill(first, signal.SIGKILL)
        second = until(lambda: {queue._heart._process.pid} - {first}, "another heart").pop()
        kept_beyond_ttl(queue, other)
        assert alive(second)
        assert lease.held
    assert queue.get(lease.id).state is State.COMPLETED


def test_exception_fails_and_interrupt_releases(queue: Queue) -> None:
    task = queue.push(1, max_attempts=1)
    with pytest.raises(ZeroDivisionError), queue.claim(ttl=30):  # type: ignore[union-attr]
        _ = 1 / 0
    assert queue.get(task.id).state is State.FAILED
    task = queue.push(2)
    with pytest.raises(KeyboardInterrupt), queue.claim(ttl=30):  # type: ignore[union-attr]
        raise KeyboardInterrupt
    assert queue.get(task.id).state is State.READY
    assert queue.get(task.id).attempts == 0


def test_a_cancelled_task_is_lost_to_its_holder(queue: Queue, other: Queue) -> None:
    task = queue.push(1)
    with pytest.raises(LeaseLost), queue.claim(ttl=30):  # type: ignore[union-attr]
        other.cancel(task.id)
    assert queue.get(task.id).state is State.CANCELLED


def test_forked_children_have_hearts_of_their_own(worker: Any, queue: Queue, log: Any) -> None:
    queue.push_many([1, 2])
    process = worker("""
with queue.claim(ttl=30) as lease:
    child = os.fork()
    if not child:
        with queue.claim(ttl=2) as mine:
            beat = lambda: queue.detail(mine.id).claim.heartbeat_at
            first = beat()
            while mine.held and beat() < first + 2.5: time.sleep(0.01)
            note("held", mine.held, mine.id != lease.id)
        os._exit(0)
    os.waitpid(child, 0)
""")
    assert process.wait(PATIENCE) == 0
    assert log() == ["held True True"]
    assert queue.stats().states[State.COMPLETED] == 2


def test_works_from_another_folder_than_it_was_opened_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with dibs.open("relative") as queue:
        queue.push(1)
        monkeypatch.chdir(tmp_path / "elsewhere")
        with queue.claim(ttl=30):  # type: ignore[union-attr]
            pass
    assert not (tmp_path / "elsewhere" / "relative").exists()
