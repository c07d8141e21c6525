"""dibs specs work, and dibs work on specs: commands run on specs by real workers."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cli.conftest import PROGRAM, Run, environment
from cli.conftest import dibs as dibs  # the fixture
from dibs.host import process_state
from dibs.specs.frontmatter import read
from dibs.states import State
from specs.spec_folder import PENDING, Folder
from waiting import PATIENCE, until

Start = Callable[..., "subprocess.Popen[bytes]"]
BUSY = ("sh", "-c", "echo $$ > running; exec sleep 60")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start `dibs …`; what still runs at the end is killed."""
    started: list[subprocess.Popen[bytes]] = []

    def run(*words: str) -> "subprocess.Popen[bytes]":
        quiet = subprocess.DEVNULL
        process = subprocess.Popen([PROGRAM, *words], cwd=tmp_path, env=environment(), stdout=quiet, stderr=quiet)
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()


def status(folder: Folder, name: str) -> object:
    return read(folder.path(name).read_bytes())["status"]


def running(folder: Folder) -> int:
    """The pid of the command, once it runs."""
    path = folder.root / "running"
    return int(until(lambda: path.exists() and path.read_text().strip(), "the command"))


def gone(pid: int) -> bool:
    return process_state(pid)[0] in "-ZX"


def test_a_command_gets_path_fields_and_the_spec_itself(dibs: Run, folder: Folder) -> None:
    path = folder.add("a", "---\nstatus: pending\nproject: p\nmodel: big one\n---\n# The title\n\ntext\n")
    script = 'printf "%s\\n" "$@" > got; cat > stdin'
    words = ["{}", "{id}", "{project}", "{payload.title}", "{payload.model}", "{epoch}", "$(id)"]
    result = dibs("specs", "work", "a", "--json", "--", "sh", "-c", script, "sh", *words)
    assert result.code == 0, result
    assert result.json == {"id": "a", "epoch": 1, "outcome": "completed", "error": ""}
    got = (folder.root / "got").read_text().splitlines()
    assert got == [str(path), "a", "p", "The title", "big one", "1", "$(id)"]
    spec = (folder.root / "stdin").read_text()
    assert spec.startswith("---\nstatus: in_progress\n") and spec.endswith("---\n# The title\n\ntext\n")
    assert status(folder, "a") == "completed"


def test_what_the_command_writes_into_its_spec_stays(dibs: Run, folder: Folder) -> None:
    path = folder.add("a")
    result = dibs("specs", "work", "a", "--", "sh", "-c", 'echo "- [x] done" >> "$1"', "sh", "{}")
    assert result.code == 0, result
    assert path.read_text().endswith("---\n# Title\n- [x] done\n")
    assert status(folder, "a") == "completed"


def test_a_command_that_fails_fails_the_spec(dibs: Run, folder: Folder) -> None:
    folder.add("a")
    folder.add("b")
    result = dibs(
        "specs", "work", "a", "b", "--", "sh", "-c", 'test "$1" = b || { echo "bad luck" >&2; exit 3; }', "sh", "{id}"
    )
    assert result.code == 1, result
    assert "exit code 3" in result.out and "bad luck" in result.err
    assert (status(folder, "a"), status(folder, "b")) == ("pending", "completed")
    fields = read(folder.path("a").read_bytes())
    assert fields["attempts"] == 1 and "exit code 3" in str(fields["error"]) and "not_before" in fields


def test_a_command_that_takes_too_long_is_ended(dibs: Run, folder: Folder) -> None:
    folder.add("a")
    result = dibs("specs", "work", "a", "--timeout", "0.3s", "--", "sleep", "60")
    assert result.code == 1, result
    assert "0.3" in result.out
    assert read(folder.path("a").read_bytes())["attempts"] == 1


def test_bad_usage_claims_nothing(dibs: Run, folder: Folder) -> None:
    folder.add("a")
    assert dibs("specs", "work", "a").code == 2
    assert dibs("specs", "work", "a", "--", "echo", "{nonsense}").code == 2
    assert dibs("specs", "work", "b", "--", "true").code == 1
    assert folder.path("a").read_text() == PENDING


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_a_worker_that_is_told_to_stop_gives_the_spec_back(start: Start, folder: Folder, number: int) -> None:
    folder.add("a")
    worker = start("specs", "work", "a", "--", *BUSY)
    command = running(folder)
    assert status(folder, "a") == "in_progress"
    worker.send_signal(number)
    assert worker.wait(PATIENCE) == 1
    assert gone(command)
    assert folder.path("a").read_text() == PENDING
    assert folder.left_locks() == []


def test_a_worker_that_is_killed_is_taken_over(dibs: Run, start: Start, folder: Folder) -> None:
    folder.add("a")
    worker = start("specs", "work", "a", "--", *BUSY)
    command = running(folder)
    busy = dibs("specs", "work", "a", "--", "true")
    assert (busy.code, "held by" in busy.err) == (1, True)
    worker.kill()
    lease = folder.open().claim(wait=30)
    assert lease is not None and lease.epoch == 2
    assert gone(command), "it was taken over while the command still ran"
    lease.complete()


def test_a_spec_is_shown_without_a_time_that_nobody_knows(dibs: Run, folder: Folder) -> None:
    folder.add("a")
    shown = dibs("show", "specs:.dibs/specs", "a").out
    assert "ready" in shown
    assert "pushed" not in shown


def test_a_spec_that_is_cancelled_ends_its_command(dibs: Run, start: Start, folder: Folder) -> None:
    folder.add("a")
    worker = start("specs", "work", "a", "--ttl", "2s", "--", *BUSY)
    command = running(folder)
    assert dibs("cancel", "specs:.dibs/specs", "a").code == 0
    assert worker.wait(PATIENCE) == 4
    assert gone(command)
    assert status(folder, "a") == "cancelled"


def test_work_on_all_that_is_ready_in_order(dibs: Run, folder: Folder) -> None:
    folder.add("first")
    folder.add("second", "---\ndepends_on: first\n---\n")
    folder.add("third", "---\ndepends_on: [second, first]\n---\n")
    folder.add("paused", "---\nstatus: paused\n---\n")
    folder.add("broken", "---\nstatus: [\n---\n")
    result = dibs("specs", "work", "-j", "2", "--until-empty", "--", "sh", "-c", 'echo "$1" >> done', "sh", "{id}")
    assert result.code == 0, result
    assert (folder.root / "done").read_text().split() == ["first", "second", "third"]
    assert status(folder, "third") == "completed" and status(folder, "paused") == "paused"
    assert folder.left_locks() == []
    assert sorted(os.listdir(folder.specs)) == ["broken.md", "first.md", "paused.md", "second.md", "third.md"]


def test_dibs_work_takes_the_folder_by_its_url(dibs: Run, folder: Folder) -> None:
    for name in "abc":
        folder.add(name, f"---\nlabels: [{'odd' if name == 'b' else 'even'}]\n---\n# {name}\n")
    words = ["work", "specs:.dibs/specs", "-j", "2", "--until-empty", "--label", "even"]
    result = dibs(*words, "--", "grep", "-q", "status: in_progress", "{}")
    assert result.code == 0, result
    assert "2 completed, 0 failed" in result.err
    states = {task.id: task.state for task in folder.open().tasks()}
    assert states == {"a": State.COMPLETED, "b": State.READY, "c": State.COMPLETED}
