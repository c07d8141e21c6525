"""dibs work: as a real process, from the outside."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import dibs as library
from dibs.host import process_state
from dibs.queues.queue import Queue
from dibs.states import State
from waiting import PATIENCE, until
from worker.conftest import NOTED, kept_beyond_ttl

from .conftest import PROGRAM, Run, environment

Start = Callable[..., "subprocess.Popen[bytes]"]


def words(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def alive(pid: int | str) -> bool:
    return process_state(int(pid))[0] not in "-ZX"


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Queue]:
    with library.open(f"{tmp_path}/q?sync=off") as opened:
        yield opened


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start `dibs work q …`; what still runs at the end is killed."""
    started: list[subprocess.Popen[bytes]] = []

    def run(*arguments: str) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(
            [PROGRAM, "work", "q", *arguments],
            cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            assert stream is not None
            stream.close()


def counts(queue: Queue) -> dict[str, int]:
    return {str(state): number for state, number in queue.stats().states.items() if number}


def test_command_for_each_task(dibs: Run, queue: Queue) -> None:
    tasks = queue.push_many([{"url": "a b"}, {"url": "c"}, {"url": "$(id)"}])
    result = dibs("work", "q", "-j", "2", "--until-empty", "--", "printf", '"%s"', "{payload.url}")
    assert result.code == 0, result
    assert result.out == ""
    assert "3 completed, 0 failed" in result.err
    assert [queue.detail(task.id).result for task in tasks] == ["a b", "c", "$(id)"]


def test_options_of_the_command_are_its_own(dibs: Run, queue: Queue) -> None:
    task = queue.push("x")
    result = dibs("work", "q", "--until-empty", "--", "printf", '["%s","%s","%s"]', "--json", "-j", "--")
    assert result.code == 0, result
    assert queue.detail(task.id).result == ["--json", "-j", "--"]


def test_failures_do_not_change_the_exit_code(dibs: Run, queue: Queue) -> None:
    task = queue.push("x", max_attempts=1)
    result = dibs("work", "q", "--until-empty", "--", "sh", "-c", "echo 'bad \x1b[31m luck' >&2; exit 3")
    assert result.code == 0, result
    assert "exit code 3: bad \\x1b[31m luck" in result.err
    assert "\x1b" not in result.err
    assert "0 completed, 1 failed" in result.err
    assert queue.get(task.id).state is State.FAILED


def test_json_events(dibs: Run, queue: Queue) -> None:
    queue.push("ok", key="k")
    queue.push("bad", max_attempts=1)
    result = dibs("work", "q", "--until-empty", "--json", "--", "test", "{}", "=", "ok")
    assert result.code == 0, result
    events = {event["event"]: event for event in result.lines}
    assert events["completed"]["key"] == "k"
    assert events["failed"]["error"] == "exit code 1"
    assert {"id", "epoch", "seconds", "pid"} <= set(events["completed"])


def test_call_finds_a_module_in_the_working_folder(dibs: Run, queue: Queue, tmp_path: Path) -> None:
    (tmp_path / "jobs.py").write_text("def add(payload): return sum(payload)")
    task = queue.push([1, 2, 3])
    result = dibs("work", "q", "--until-empty", "--call", "jobs:add", "--pool", "thread", "-j", "2")
    assert result.code == 0, result
    assert queue.detail(task.id).result == 6


def test_max_tasks(dibs: Run, queue: Queue) -> None:
    queue.push_many(range(9))
    assert dibs("work", "q", "-j", "2", "--max-tasks", "4", "--", "true").code == 0
    assert counts(queue) == {"completed": 4, "ready": 5}


def test_show_output(dibs: Run, queue: Queue) -> None:
    queue.push("x")
    result = dibs("work", "q", "--until-empty", "--show-output", "--", "echo", "seen")
    assert "seen" in result.err.splitlines()
    assert result.out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give either a command after --, or --call"),
        (["--"], "give either a command after --, or --call"),
        (["--call", "a:b", "--", "true"], "give either"),
        (["--", "echo", "{nope}"], "placeholder {nope} in '{nope}' is not known"),
        (["--", "./nope", "{}"], "command './nope' is not there, or not executable"),
        (["--call", "nope:x"], "there is no module 'nope'"),
        (["-j", "0", "--", "true"], "0"),
        (["--timeout", "0", "--", "true"], "timeout"),
    ],
)
def test_bad_usage(dibs: Run, arguments: list[str], message: str) -> None:
    result = dibs("work", "q", *arguments)
    assert result.code == 2, result
    assert message in result.err


def test_a_command_that_fits_no_task_uses_up_no_more_than_one(dibs: Run, queue: Queue) -> None:
    queue.push_many({"url": str(number)} for number in range(5))
    result = dibs("work", "q", "--", "echo", "{payload.urll}")
    assert result.code == 2
    assert "payload has no 'urll'" in result.err.splitlines()[-1]
    assert sorted(task.attempts for task in queue.tasks()) == [0, 0, 0, 0, 1]
    assert queue.stats().states["failed"] == 0


def test_first_signal_finishes_what_is_in_hand(queue: Queue, start: Start, tmp_path: Path) -> None:
    (tmp_path / "jobs.py").write_text(NOTED + "def slow(payload, lease): until_told(lease, 'pids')")
    queue.push_many(range(5))
    process = start("-j", "2", "--call", "jobs:slow")
    until(lambda: len(words(tmp_path / "pids")), "two tasks to start", equals=2)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    assert b"stopping: finishing the tasks in hand" in err
    assert counts(queue) == {"completed": 2, "ready": 3}


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_second_signal_releases_what_is_in_hand(
    queue: Queue, start: Start, tmp_path: Path, number: int, code: int
) -> None:
    task = queue.push("x")
    process = start("--", "sh", "-c", "echo $$ >> pids; sleep 60")
    (pid,) = until(lambda: words(tmp_path / "pids"), "the task to start")
    process.send_signal(number)
    assert process.stderr is not None
    while b"stopping" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == code, err
    assert b"released" in err
    assert not alive(pid)
    now = queue.get(task.id)
    assert (now.state, now.attempts, now.deaths) == (State.READY, 0, 0)


def test_when_the_supervisor_is_killed_commands_die_and_their_tasks_go_on(
    queue: Queue, start: Start, tmp_path: Path
) -> None:
    queue.push("x")
    process = start("--ttl", "60", "--", "sh", "-c", "echo $$ >> pids; sleep 60")
    (pid,) = until(lambda: words(tmp_path / "pids"), "the task to start")
    process.kill()
    lease = until(lambda: queue.claim(), "the task to be given back, long before its TTL")
    assert not alive(pid)
    assert lease.epoch == 2


def test_when_the_supervisor_is_killed_functions_end_too(queue: Queue, start: Start, tmp_path: Path) -> None:
    (tmp_path / "jobs.py").write_text("""
import os, time
def slow(payload):
    with open("pids", "a") as file: file.write(f"{os.getpid()}\\n")
    time.sleep(60)
""")
    queue.push("x")
    process = start("--ttl", "60", "--call", "jobs:slow")
    (pid,) = until(lambda: words(tmp_path / "pids"), "the task to start")
    process.kill()
    lease = until(lambda: queue.claim(), "the task to be given back, long before its TTL")
    assert not alive(pid)
    assert lease.epoch == 2
    process.wait()


def test_when_the_supervisor_is_stopped_commands_end_before_their_leases(
    queue: Queue, start: Start, tmp_path: Path
) -> None:
    queue.push("x")
    process = start("--ttl", "12", "--", "sh", "-c", "echo $$ >> pids; sleep 60")  # ended a tenth of it before
    (pid,) = until(lambda: words(tmp_path / "pids"), "the task to start")
    process.send_signal(signal.SIGSTOP)
    lease = until(lambda: queue.claim(), "the lease to run out")
    assert not alive(pid)
    assert lease.epoch >= 2
    process.send_signal(signal.SIGCONT)


def test_idle_runners_leave_when_the_supervisor_is_killed(queue: Queue, start: Start, tmp_path: Path) -> None:
    queue.push("x")
    process = start("-j", "2", "--", "sh", "-c", "echo $PPID >> pids")
    (pid,) = until(lambda: words(tmp_path / "pids"), "a runner")
    assert alive(pid)
    process.kill()
    until(lambda: not alive(pid), "the runner to leave")


def test_a_reader_that_stops_reading_does_not_cost_leases(queue: Queue, start: Start, tmp_path: Path) -> None:
    """Its stdout is full and nobody reads: the supervisor goes on beating."""
    queue.push_many(["x" * 10] * 1500)
    slow = queue.push("slow", priority="low")
    (tmp_path / "jobs.py").write_text("""
import os, time
def some(payload):
    if payload == "slow":
        open("started", "w").close()
        while not os.path.exists("go"): time.sleep(0.01)
""")
    process = start("--ttl", "1.8", "--json", "--until-empty", "--call", "jobs:some")
    until((tmp_path / "started").exists, "the slow task")
    kept_beyond_ttl(queue, queue)
    (tmp_path / "go").touch()
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    assert len(out.splitlines()) == 1501
    assert queue.get(slow.id).epoch == 1


def test_live_view_on_a_terminal(queue: Queue, tmp_path: Path) -> None:
    """On a pseudo terminal: the view is drawn, what tasks print stands above it, control codes are escaped."""
    import pty

    (tmp_path / "jobs.py").write_text("""
import time
def talk(payload):
    print("heard", payload, flush=True)
    time.sleep(0.3)
    if payload == "bad\\x1b": raise ValueError("bad \\x1b]0;title\\x07 luck")
""")
    queue.push_many(["one", "bad\x1b"])
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.execve(PROGRAM, [PROGRAM, "work", "q", "--until-empty", "--call", "jobs:talk"], environment(TERM="xterm"))
    screen = b""
    while True:
        try:
            chunk = os.read(fd, 65536)
        except OSError:
            break
        if not chunk:
            break
        screen += chunk
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    text = screen.decode()
    assert "heard one" in text
    assert "latest failures" in text
    assert "\x1b]0;title" not in text
    assert "1 completed, 1 failed" in text


def test_help_has_examples(dibs: Run) -> None:
    result = dibs("work", "--help")
    assert result.code == 0
    assert "dibs work queues/scrape -j 4 -- ./scrape.sh {payload.url}" in result.out
    assert "--until-empty" in result.out


def test_python_is_what_runs_the_runners(queue: Queue, start: Start, tmp_path: Path) -> None:
    """Runners are found by `ps`: the same interpreter, the module's name and the queue's URL."""
    queue.push("x")
    process = start("--", "sh", "-c", "tr '\\0' ' ' < /proc/$PPID/cmdline > line")
    line = until(lambda: words(tmp_path / "line"), "its command line")
    assert line[0] == sys.executable
    assert line[1:4] == ["-m", "dibs.worker.process", "file:q"]
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
