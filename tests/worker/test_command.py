"""One command for one task: what it gets, what becomes of what it says, and how it ends."""

import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.clock import SYSTEM, SystemClock
from dibs.queues.held import Lease
from dibs.queues.queue import Queue
from dibs.worker.board import new_board
from dibs.worker.child import ERR_BYTES, OUT_BYTES
from dibs.worker.command import CommandWork, last_json
from dibs.worker.work import Done, Failed, GivenUp
from waiting import PATIENCE, until

from .conftest import alive, lines

Do = Callable[..., Done | Failed | GivenUp]


@pytest.fixture
def take(queue: Queue) -> Callable[[Any], Lease]:
    def one(payload: Any = None) -> Lease:
        queue.push(payload)
        lease = queue.claim()
        assert lease is not None
        return lease

    return one


@pytest.fixture
def do(take: Callable[[Any], Lease]) -> Do:
    def run(*command: str, payload: Any = None) -> Done | Failed | GivenUp:
        return CommandWork(command).do(take(payload), new_board(1).slots[0], None)

    return run


def python(source: str) -> tuple[str, str, str]:
    return (sys.executable, "-c", source)


def test_payload_on_stdin_and_last_json_line_as_result(do: Do) -> None:
    outcome = do("sh", "-c", 'echo "{}"; cat; echo bye', payload={"a": [1, "é"]})
    assert outcome == Done({"a": [1, "é"]})


def test_large_payload_that_is_never_read(do: Do) -> None:
    assert do("true", payload="x" * 3_000_000) == Done(None)


def test_large_payload_that_is_read(do: Do) -> None:
    assert do("sh", "-c", "wc -c", payload="x" * 3_000_000) == Done(3_000_003)


def test_variables_are_set_and_no_shell_is_involved(do: Do) -> None:
    source = (
        "import json, os, sys; print(json.dumps([os.environ['DIBS_ATTEMPT'], os.environ['DIBS_PAYLOAD'], sys.argv[1]]))"
    )
    assert do(*python(source), "$HOME;`id`", payload="$(id)") == Done(["1", "$(id)", "$HOME;`id`"])


@pytest.mark.parametrize(
    ("out", "result"),
    [
        (b"", None),
        (b"hello\n", None),
        (b'{"a": 1}\n\n  \n', {"a": 1}),
        (b'{"a": 1}\nnot json\n', {"a": 1}),
        (b"1\n2\n3", 3),
        (b"[NaN]\n", None),
        (b"{broken\n", None),
        (b"[1]\r\n", [1]),
        (b"\xff\xfe\n", None),
    ],
)
def test_last_json(out: bytes, result: Any) -> None:
    assert last_json(out) == result


def test_exit_code_and_stderr(do: Do) -> None:
    assert do("sh", "-c", "echo so what >&2; exit 7") == Failed("exit code 7: so what")


def test_killed_by_signal(do: Do) -> None:
    assert do("sh", "-c", "kill -SEGV $$") == Failed("killed by SIGSEGV")


def test_command_that_is_not_there(do: Do) -> None:
    outcome = do("no-such-command-at-all")
    assert isinstance(outcome, Failed)
    assert "cannot start 'no-such-command-at-all'" in outcome.error
    assert outcome.retry


def test_a_missing_field_is_the_tasks_fault_only_once_another_had_it(take: Callable[[Any], Lease]) -> None:
    work, slot = CommandWork(["echo", "{payload.url}"]), new_board(1).slots[0]
    first = work.do(take({}), slot, None)
    assert isinstance(first, Failed)
    assert (first.retry, first.misfit) == (True, True)
    assert isinstance(work.do(take({"url": "x"}), slot, None), Done)
    later = work.do(take({}), slot, None)
    assert isinstance(later, Failed)
    assert (later.retry, later.misfit) == (False, False)


def test_output_is_kept_within_bounds(do: Do) -> None:
    noisy = "import sys\nfor _ in range(40): sys.stdout.write(('x' * 99 + '\\n') * 10000)\nsys.stdout.write('[1]\\n')"
    assert do(*python(noisy)) == Done([1])
    outcome = do(*python("import sys\nsys.stderr.write('y' * 1_000_000); sys.exit(1)"))
    assert isinstance(outcome, Failed)
    assert len(outcome.error) <= ERR_BYTES + len("exit code 1: ")


def test_result_line_too_long_to_keep_fails(do: Do) -> None:
    outcome = do(*python(f"print('\"' + 'x' * {OUT_BYTES + 10} + '\"')"))
    assert isinstance(outcome, Failed)
    assert "longer than" in outcome.error


class Late(SystemClock):
    """Ten minutes pass at once when there is this file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def boottime(self) -> float:  # type: ignore[override]
        return SYSTEM.boottime() + (600.0 if self._path.exists() else 0.0)


def test_time_limit_kills_the_whole_group(url: str, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    late = tmp_path / "late"  # comes when all that matters was said, and with a word that is heard
    script = f"sleep 60 & echo $! $$ > {pids}; echo working >&2; : > {late}; echo on >&2; wait"
    with dibs.open(url, clock=Late(late)) as queue:
        queue.push(None)
        lease = queue.claim(ttl=3600)
        assert lease is not None
        outcome = CommandWork(["sh", "-c", script]).do(lease, new_board(1).slots[0], lease.since + 600)
    assert isinstance(outcome, Failed)
    assert outcome.error.startswith("timed out after 600 s: working")
    for pid in lines(pids)[0].split():
        until(lambda pid=pid: not alive(int(pid)), "the group to die")


def test_what_a_command_leaves_running_is_killed(do: Do, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    assert do("sh", "-c", f"sleep 60 & echo $! > {pids}; echo 5") == Done(5)
    until(lambda: not alive(int(lines(pids)[0])), "what was left to die")


def test_a_daemon_that_keeps_the_output_open_does_not_hold_the_task(do: Do, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    try:
        assert do("sh", "-c", f"setsid sleep 60 & echo $! > {pids}; echo 5") == Done(5)
    finally:
        os.kill(int(lines(pids)[0]), 9)


def test_abandoned_from_another_thread(take: Callable[[Any], Lease], tmp_path: Path) -> None:
    work, lease, outcomes = CommandWork(["sh", "-c", f"echo $$ > {tmp_path}/pid; sleep 60"]), take(None), []
    slot = new_board(1).slots[0]
    slot.begin(lease.id, lease.epoch, "", 0.0)
    thread = threading.Thread(target=lambda: outcomes.append(work.do(lease, slot, None)))
    thread.start()
    pid = int(until(lambda: lines(tmp_path / "pid"), "the command to start")[0])
    until(lambda: slot.doing().group, "its group on the board", equals=pid)  # type: ignore[union-attr]
    work.abandon("another task", "not this one")
    work.abandon(lease.id, "its lease was lost")
    thread.join(PATIENCE)
    assert outcomes == [GivenUp("its lease was lost")]
    assert not alive(pid)
    assert slot.doing().group == 0  # type: ignore[union-attr]


def test_child_dies_with_the_process_that_runs_it(program: Any, tmp_path: Path) -> None:
    child = f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    source = f"""
import os, sys
from dibs.clock import SYSTEM
from dibs.worker.child import Child
Child([sys.executable, "-c", {child!r}], env=dict(os.environ), stdin=b"", clock=SYSTEM).wait()
"""
    process = program("-c", source)
    pid = int(until(lambda: lines(tmp_path / "pid"), "the child")[0])
    process.kill()
    until(lambda: not alive(pid), "the child to die with its parent")


def test_results_are_json(do: Do) -> None:
    value = {"deep": [1, {"x": None}], "text": "é\u2028"}
    assert do("printf", "%s", json.dumps(value)) == Done(value)
