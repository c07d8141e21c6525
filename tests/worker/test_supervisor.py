"""Supervisor and runners, as real processes."""

import os
import secrets
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dibs.errors import BadInput
from dibs.queues.queue import Queue
from dibs.states import State
from dibs.task import NewTask
from dibs.worker.guard import Ward
from dibs.worker.job import Job
from dibs.worker.supervisor import Supervisor
from waiting import PATIENCE, until

from .conftest import NOTED, alive, command_lines, kept_beyond_ttl, lines, news

Supervise = Callable[..., Supervisor]
Module = Callable[[str], str]
NOTE = """
import os, time
def note(path, *words):
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(fd, (" ".join(map(str, words)) + "\\n").encode())
    os.close(fd)
"""


def counts(queue: Queue) -> dict[str, int]:
    return {str(state): number for state, number in queue.stats().states.items() if number}


def finished(supervisor: Supervisor) -> Supervisor:
    assert supervisor.ended.wait(PATIENCE), "the supervisor did not end"
    supervisor.join()
    return supervisor


def test_until_empty_with_processes(queue: Queue, module: Module, supervise: Supervise) -> None:
    module("def double(payload): return payload * 2")
    tasks = queue.push_many(range(60))
    supervisor = finished(supervise(workers=3, call="jobs:double", until_empty=True))
    assert counts(queue) == {"completed": 60}
    assert supervisor.totals().completed == 60
    assert [queue.detail(task.id).result for task in tasks[:3]] == [0, 2, 4]
    assert not supervisor.unusable


def test_until_empty_with_threads(queue: Queue, module: Module, supervise: Supervise, tmp_path: Path) -> None:
    """All four at once: each waits for the others."""
    module("import threading\nbarrier = threading.Barrier(4, timeout=20)\ndef meet(payload): barrier.wait()")
    queue.push_many(range(8))
    supervisor = finished(supervise(workers=4, threads=True, call="jobs:meet", until_empty=True))
    assert len(supervisor.hands) == 1
    assert counts(queue) == {"completed": 8}


def test_until_empty_stays_while_a_task_in_hand_may_push_more(
    queue: Queue, module: Module, supervise: Supervise
) -> None:
    module("""
        import time
        def grow(payload, lease):
            time.sleep(0.3)
            if payload: lease.queue.push(payload - 1)
    """)
    queue.push(3)
    finished(supervise(workers=2, call="jobs:grow", until_empty=True))
    assert counts(queue) == {"completed": 4}


def test_empty_means_looked_in_vain_after_the_last_task_and_nothing_in_hand(url: str, queue: Queue) -> None:
    supervisor = Supervisor(Job(url=url, call="a:b", until_empty=True), queue, workers=2)
    first, second = supervisor.board.slots
    assert not supervisor._is_over(), "nobody has looked yet"
    first.begin("a", 1, "", 0.0)
    first.end(1.0, 0)
    first.look(2.0)
    first.begin("b", 1, "", 3.0)
    second.look(4.0)
    assert not supervisor._is_over(), "one is in hand, and may push more"
    first.end(5.0, 0)
    second.look(6.0)
    assert not supervisor._is_over(), "the first has not looked since"
    first.look(6.5)
    assert supervisor._is_over()


def test_a_refusal_is_told_of_its_own_task_and_not_of_the_next_one_in_hand(url: str, queue: Queue) -> None:
    supervisor = Supervisor(Job(url=url, call="a:b"), queue)
    (hand,) = supervisor.hands
    hand.ward = Ward(os.getpid(), "mark")
    hand.slots[0].begin("next", 1, "", 0.0, handle=b"1:next", until=60.0)
    supervisor.lost(hand.ward, "1:before")
    assert news(supervisor) == []
    supervisor.lost(hand.ward, "1:next")
    assert [(event["event"], event["id"]) for event in news(supervisor)] == [("silent", "next")]


def test_max_tasks_is_exact(queue: Queue, module: Module, supervise: Supervise) -> None:
    module("def noop(payload): pass")
    queue.push_many(range(40))
    finished(supervise(workers=3, call="jobs:noop", max_tasks=17))
    assert counts(queue) == {"completed": 17, "ready": 23}


def test_filters(queue: Queue, module: Module, supervise: Supervise) -> None:
    module("def noop(payload): pass")
    queue.push(1, project="a", labels=["x"], priority=10)
    queue.push(2, project="a", priority=10)
    queue.push(3, project="b", labels=["x"])
    queue.push(4, project="a", labels=["x"], priority="high")
    finished(supervise(call="jobs:noop", until_empty=True, project="a", labels=("x",), max_priority=50))
    assert [task.payload for task in queue.tasks("completed")] == [1]


def test_exception_fails_the_task_with_its_traceback(queue: Queue, module: Module, supervise: Supervise) -> None:
    module("def bad(payload):\n    raise KeyError('no such thing')")
    task = queue.push(1, max_attempts=1)
    supervisor = finished(supervise(call="jobs:bad", until_empty=True))
    detail = queue.detail(task.id)
    assert detail.task.state is State.FAILED
    assert detail.error.startswith("KeyError: 'no such thing'")
    assert 'jobs.py", line 2, in bad' in detail.error
    (event,) = news(supervisor)
    assert (event["event"], event["id"]) == ("failed", task.id)


def test_result_that_is_not_json_fails_the_task(queue: Queue, module: Module, supervise: Supervise) -> None:
    module("def bad(payload): return {1, 2}")
    task = queue.push(1, max_attempts=1)
    finished(supervise(call="jobs:bad", until_empty=True))
    assert "its result cannot be kept" in queue.detail(task.id).error


def test_system_exit_does_not_end_the_worker(queue: Queue, module: Module, supervise: Supervise) -> None:
    module("import sys\ndef leave(payload): sys.exit(payload)")
    queue.push_many([1, 2, 3])
    supervisor = finished(supervise(call="jobs:leave", until_empty=True))
    assert supervisor.totals().failed == 3
    assert all(event["event"] == "failed" for event in news(supervisor))


def test_lease_is_kept_while_the_task_holds_the_gil(
    queue: Queue, other: Queue, module: Module, supervise: Supervise, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    module("""
        import ctypes, os
        def block(payload): ctypes.PyDLL(None).read(os.open(payload, os.O_RDWR), ctypes.create_string_buffer(1), 1)
    """)
    task = queue.push(str(gate))
    supervisor = supervise(call="jobs:block", until_empty=True, ttl=1.8)
    until(lambda: supervisor.hands[0].in_hand(), "the task to start")
    kept_beyond_ttl(queue, other)
    gate.write_text("x")
    finished(supervisor)
    assert queue.get(task.id).state is State.COMPLETED
    assert queue.get(task.id).epoch == 1


def test_stopped_runner_loses_its_task_and_works_on_when_it_wakes(
    queue: Queue, other: Queue, module: Module, supervise: Supervise, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    module(
        NOTE
        + f"""
def slow(payload):
    note({str(tmp_path / "log")!r}, os.getpid())
    while payload and not os.path.exists({str(go)!r}): time.sleep(0.01)
"""
    )
    task = queue.push("wait")
    supervisor = supervise(call="jobs:slow", ttl=4.0)
    (line,) = until(lambda: lines(tmp_path / "log"), "the task to start")
    os.kill(int(line), signal.SIGSTOP)
    epoch = queue.get(task.id).epoch
    lease = until(lambda: other.claim(ttl=600), "the lease to run out")
    assert (lease.id, lease.epoch) == (task.id, epoch + 1)
    go.touch()
    os.kill(int(line), signal.SIGCONT)
    until(lambda: supervisor.totals().lost, "the late finish to be refused", equals=1)
    assert queue.get(task.id).state is State.CLAIMED
    lease.complete("second")
    queue.push("")
    until(lambda: supervisor.totals().completed, "the woken worker to go on", equals=1)
    assert lines(tmp_path / "log") == [line, line], "it is the same process"
    told: set[str] = set()
    until(lambda: told.update(event["event"] for event in news(supervisor)) or "lost" in told, "word of it")


def test_command_of_a_killed_runner_is_dead_before_another_takes_the_task(
    queue: Queue, other: Queue, supervise: Supervise, tmp_path: Path
) -> None:
    """The command and a grandchild in a session of its own note the time again and again."""
    source = tmp_path / "beat.py"
    source.write_text("""
import os, sys, time
if len(sys.argv) < 3 and os.fork() == 0: os.setsid()
while True:
    with open(sys.argv[1], "a") as file: file.write(f"{os.getpid()} {time.monotonic()}\\n")
    time.sleep(0.002)
""")
    queue.push("x")
    beats = tmp_path / "beats"
    supervisor = supervise(command=(sys.executable, str(source), str(beats)), ttl=30.0)
    until(lambda: len({line.split()[0] for line in lines(beats)}), "both to beat", equals=2)
    supervisor.stop()  # so that the task does not go back to this worker
    os.kill(supervisor.hands[0].pid, signal.SIGKILL)
    lease = until(lambda: other.claim(), "the task to be given back")
    count = len(lines(beats))
    settled = time.monotonic() + 0.3
    until(lambda: time.monotonic() > settled)
    assert len(lines(beats)) == count, "the command went on after its task had gone to another"
    assert (lease.epoch, lease.task.deaths, lease.task.attempts) == (2, 1, 0)


def test_the_command_of_a_cancelled_task_is_ended(queue: Queue, supervise: Supervise) -> None:
    task = queue.push("x")
    supervisor = supervise(command=("sleep", "600"), ttl=3.0)
    until(lambda: supervisor.hands[0].in_hand(), "the task to start")
    queue.cancel(task.id)
    until(lambda: not supervisor.hands[0].in_hand(), "the command to be ended")
    assert supervisor.totals().lost == 1
    assert queue.get(task.id).state is State.CANCELLED


def test_a_killed_runner_is_started_again(queue: Queue, module: Module, supervise: Supervise) -> None:
    module("import time\ndef slow(payload): time.sleep(payload)")
    queue.push(60)
    supervisor = supervise(call="jobs:slow", ttl=30.0)
    first = until(lambda: supervisor.hands[0].in_hand() and supervisor.hands[0].pid, "the task to start")
    os.kill(first, signal.SIGKILL)
    until(lambda: supervisor.hands[0].pid not in (0, first), "another runner")
    until(lambda: supervisor.hands[0].in_hand(), "it to be run again")
    assert [event["event"] for event in news(supervisor)] == ["died"]


def test_a_task_that_kills_its_workers_ends_in_failed(queue: Queue, module: Module, supervise: Supervise) -> None:
    module("import os\ndef poison(payload):\n    if payload == 'poison': os.kill(os.getpid(), 9)")
    poison = queue.push("poison", max_deaths=3)
    queue.push_many(["fine"] * 10)
    finished(supervise(workers=2, call="jobs:poison", until_empty=True))
    assert counts(queue) == {"completed": 10, "failed": 1}
    detail = queue.detail(poison.id)
    assert (detail.task.deaths, detail.task.attempts) == (3, 0)
    assert [event.what for event in detail.history] == ["died"] * 3


def test_timeout_of_a_command(queue: Queue, supervise: Supervise) -> None:
    seconds = f"60.{secrets.randbits(32)}"  # as nobody else sleeps
    task = queue.push("x", max_attempts=1)
    finished(supervise(command=("sh", "-c", f"sleep {seconds}; true"), timeout=0.4, until_empty=True))
    assert queue.detail(task.id).error.startswith("timed out after 0.4")
    assert not [words for words in command_lines() if seconds in words]


def test_timeout_of_a_function_that_holds_the_gil(queue: Queue, module: Module, supervise: Supervise) -> None:
    module("""
        import ctypes
        def block(payload):
            if payload: ctypes.PyDLL(None).usleep(60_000_000)
    """)
    task = queue.push(1, max_attempts=1)
    queue.push_many([0] * 5)
    supervisor = finished(supervise(call="jobs:block", timeout=4.0, until_empty=True))
    detail = queue.detail(task.id)
    assert detail.error == "timed out after 4 s"
    assert (detail.task.attempts, detail.task.deaths) == (1, 0)
    assert counts(queue) == {"completed": 5, "failed": 1}
    assert supervisor.totals().failed == 1


def test_max_runtime_of_a_task(queue: Queue, supervise: Supervise) -> None:
    task = queue.push("x", max_attempts=1, max_runtime=8)  # the runner ends it 5 % earlier, and says so in time
    finished(supervise(command=("sleep", "60"), until_empty=True))
    assert queue.detail(task.id).error.startswith("timed out")
    assert queue.get(task.id).attempts == 1


def test_timeout_in_one_thread_releases_what_the_others_had(queue: Queue, module: Module, supervise: Supervise) -> None:
    """The thread that runs `long` has waited until `fine` is in hand, which ends only with its process."""
    module("""
        import threading, time
        begun = threading.Event()
        def wait(payload, lease):
            if payload == "first": begun.wait()
            if payload == "fine": begun.set()
            if lease.epoch == 1 and payload != "first": time.sleep(600)
    """)
    fine = queue.push("fine", priority="high")
    queue.push("first")
    long = queue.push("long", priority="low", max_attempts=1, max_runtime=1.5)
    finished(supervise(workers=2, threads=True, call="jobs:wait", until_empty=True))
    assert queue.get(long.id).state is State.FAILED
    now = queue.get(fine.id)
    assert (now.state, now.epoch, now.attempts, now.deaths) == (State.COMPLETED, 2, 0, 0)


def test_stop_finishes_what_is_in_hand(queue: Queue, module: Module, supervise: Supervise, tmp_path: Path) -> None:
    module(NOTED + f"def slow(payload, lease): until_told(lease, {str(tmp_path / 'log')!r})")
    queue.push_many(range(10))
    supervisor = supervise(workers=2, call="jobs:slow")
    until(lambda: len(lines(tmp_path / "log")), "both to be busy", equals=2)
    supervisor.stop()
    finished(supervisor)
    assert counts(queue) == {"completed": 2, "ready": 8}
    assert supervisor.totals().completed == 2
    assert os.listdir(f"{queue.root}/workers") == []  # type: ignore[attr-defined]


def test_kill_releases_what_is_in_hand(queue: Queue, module: Module, supervise: Supervise, tmp_path: Path) -> None:
    module(NOTE + f"def slow(payload):\n    note({str(tmp_path / 'log')!r}, os.getpid())\n    time.sleep(60)")
    tasks = queue.push_many(range(2))
    supervisor = supervise(workers=2, call="jobs:slow", ttl=60.0)
    until(lambda: len(lines(tmp_path / "log")), "both to be busy", equals=2)
    supervisor.kill()
    finished(supervisor)
    for task in tasks:
        now = queue.get(task.id)
        assert (now.state, now.attempts, now.deaths) == (State.READY, 0, 0)
    assert not any(alive(int(pid)) for pid in lines(tmp_path / "log"))
    assert {event["event"] for event in news(supervisor)} == {"released"}


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("x = 1", "jobs:nope", "has no 'nope'"),
        ("x = 1", "jobs:x", "is a int, not a function"),
        ("def none(): pass", "jobs:none", "takes no argument"),
        ("def two(a, b): pass", "jobs:two", "it needs b"),
        ("import not_there_at_all", "jobs:x", "No module named 'not_there_at_all'"),
        ("1 / 0", "jobs:x", "ZeroDivisionError"),
        ("", "nowhere:x", "there is no module 'nowhere'"),
    ],
)
def test_a_function_that_cannot_be_called(
    module: Module, supervise: Supervise, source: str, target: str, message: str
) -> None:
    module(source)
    supervisor = finished(supervise(call=target))
    assert message in supervisor.unusable
    assert supervisor.bad_usage


def test_a_runner_that_dies_before_it_is_ready_is_not_started_for_ever(module: Module, supervise: Supervise) -> None:
    module("import os\nos.kill(os.getpid(), 9)")
    supervisor = finished(supervise(call="jobs:x"))
    assert "dies before it is ready" in supervisor.unusable


def test_a_queue_that_is_gone_is_said(queue: Queue, module: Module, supervise: Supervise, tmp_path: Path) -> None:
    module("""
        import os, time
        def slow(payload):
            while payload and not os.path.exists(payload): time.sleep(0.01)
    """)
    queue.push("", priority="high")
    queue.push_many([f"{tmp_path}/gone"] * 2)
    supervisor = supervise(call="jobs:slow", until_empty=True)
    until(lambda: supervisor.totals().completed, "the first")
    os.rename(f"{tmp_path}/q", f"{tmp_path}/gone")
    finished(supervisor)
    assert "gone" in supervisor.unusable
    assert not supervisor.bad_usage


def test_every_event_when_asked(queue: Queue, module: Module, supervise: Supervise) -> None:
    module("def noop(payload): return 1")
    queue.push_many(range(500))
    queue.push("keyed", key="k")
    supervisor = finished(supervise(workers=2, call="jobs:noop", until_empty=True, every_event=True))
    events = news(supervisor)
    assert len(events) == 501
    assert {event["event"] for event in events} == {"completed"}
    assert [event["key"] for event in events if "key" in event] == ["k"]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"call": "a:b", "command": ("x",)},
        {"call": "nocolon"},
        {"call": "a:b", "timeout": 0.0},
        {"command": ("{no}",)},
    ],
)
def test_bad_jobs(url: str, settings: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        Job(url=url, **settings).checked()


def test_what_a_function_prints_does_not_reach_stdout(
    queue: Queue, module: Module, supervise: Supervise, capfd: pytest.CaptureFixture[str]
) -> None:
    module("def talk(payload): print('hello from the task', flush=True)")
    queue.push(1)
    finished(supervise(call="jobs:talk", until_empty=True))
    out, err = capfd.readouterr()
    assert "hello from the task" not in out
    assert "hello from the task" in err


def test_async_and_lease_and_task_parameters(queue: Queue, module: Module, supervise: Supervise) -> None:
    module("""
        async def both(payload, lease, task):
            import asyncio
            await asyncio.sleep(0)
            return [payload, lease.epoch, task.key]
    """)
    task = queue.push("p", key="k")
    finished(supervise(call="jobs:both", until_empty=True))
    assert queue.detail(task.id).result == ["p", 1, "k"]


def test_a_function_may_finish_its_lease_itself(queue: Queue, module: Module, supervise: Supervise) -> None:
    module("""
        def own(payload, lease):
            if payload == "fail": lease.fail("own words", retry=False)
            elif payload == "release": lease.release(delay=60)
            else: lease.complete("own result")
            return "ignored"
    """)
    done, failed, _ = queue.push_many(["complete", "fail", "release"])
    supervisor = finished(supervise(call="jobs:own", until_empty=True))
    assert queue.detail(done.id).result == "own result"
    assert queue.detail(failed.id).error == "own words"
    assert counts(queue) == {"completed": 1, "failed": 1, "scheduled": 1}
    assert (supervisor.totals().completed, supervisor.totals().failed) == (1, 1)


def test_messages_are_few(queue: Queue, module: Module, supervise: Supervise, monkeypatch: pytest.MonkeyPatch) -> None:
    """Failures are told in bundles; what went well is not told at all."""
    heard = []
    answer = Supervisor._answer

    def listen(self: Supervisor, hand: Any, message: dict[str, Any]) -> None:
        heard.append(message)
        answer(self, hand, message)

    monkeypatch.setattr(Supervisor, "_answer", listen)
    module("def some(payload):\n    if payload % 2: raise ValueError(payload)")
    queue.push_many(NewTask(payload=number, max_attempts=1) for number in range(2000))
    begun = time.monotonic()
    supervisor = finished(supervise(call="jobs:some", until_empty=True))
    assert supervisor.totals().failed == 1000
    assert sum(len(message.get("events", ())) for message in heard) == len(news(supervisor))
    assert len(heard) <= 10 + 12 * (time.monotonic() - begun)
