"""dibs demo: what it shows is true, and it says so when it is not."""

import json
import os
import subprocess
from pathlib import Path

import pytest

import dibs as library
from dibs.cli.demo import Director
from dibs.cli.demoledger import Ledger
from dibs.host import process_state
from dibs.worker.job import Job
from dibs.worker.supervisor import Supervisor
from waiting import PATIENCE, until

from .conftest import PROGRAM, Run, environment


def test_small_demo(dibs: Run, tmp_path: Path) -> None:
    result = dibs("demo", "--tasks", "60", "--workers", "3", "--keep", "--json", env={"TMPDIR": str(tmp_path)})
    assert result.code == 0, result
    numbers = result.json
    assert (numbers["pushed"], numbers["completed"], numbers["lost"], numbers["twice"]) == (60, 60, 0, 0)
    assert numbers["taken_over"] >= 2
    assert numbers["refused"] >= 1
    assert numbers["runs"] >= 62
    for word in (
        "SIGKILL to worker",
        "SIGSTOP to worker",
        "SIGCONT to worker",
        "was refused: LeaseLost",
        "taken over by",
    ):
        assert word in result.err, result
    (folder,) = tmp_path.glob("dibs-demo-*")
    assert f"the queue is in {folder}/queue" in result.err
    assert len([name for _, _, names in os.walk(folder / "queue" / "completed") for name in names]) == 60


def test_nothing_is_left_behind(dibs: Run, tmp_path: Path) -> None:
    result = dibs("demo", "--tasks", "40", "--workers", "2", env={"TMPDIR": str(tmp_path)})
    assert result.code == 0, result
    assert "completed twice" in result.out
    assert list(tmp_path.iterdir()) == []


def test_interrupted_it_takes_everything_down(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [PROGRAM, "demo", "--plain"],
        stdout=subprocess.PIPE, cwd=tmp_path, env=environment(TMPDIR=str(tmp_path)),
    )  # fmt: skip
    assert process.stdout is not None
    line = b""
    while b" of 300 completed" not in line or line.split()[0] == b"0":
        line = process.stdout.readline()
        assert line, "it ended before anything was completed"
    (folder,) = tmp_path.glob("dibs-demo-*")
    sessions = [name.rsplit("-", 2)[1] for name in os.listdir(folder / "queue" / "workers")]
    process.terminate()
    process.stdout.read()
    assert process.wait(PATIENCE) == 130
    process.stdout.close()
    assert sessions and not any(process_state(int(pid))[0] not in "-ZX" for pid in sessions)
    assert list(tmp_path.iterdir()) == []


def test_only_a_worker_that_lives_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One may be dead and not buried yet: gone, not yet waited for, or without a process at all."""
    sent: list[int] = []
    kill = os.kill

    def sending(pid: int, number: int) -> None:
        sent.append(pid)
        if pid:
            kill(pid, number)

    with library.open(str(tmp_path / "queue")) as queue:
        queue.push_many(range(4))
        supervisor = Supervisor(Job(url=queue.url, call="a:b"), queue, workers=4)
        gone, dead, alive = (subprocess.Popen(words) for words in (["true"], ["true"], ["sleep", "60"]))
        gone.wait()
        until(lambda: process_state(dead.pid)[0], equals="Z")
        for hand, process in zip(supervisor.hands, (gone, dead, None, alive), strict=True):
            lease = queue.claim(ttl=60)
            assert lease is not None
            hand.process = process
            hand.slots[0].begin(lease.id, 1, "", 0.0)
        monkeypatch.setattr(os, "kill", sending)
        director = Director(supervisor, None, None, {})  # type: ignore[arg-type]
        caught = director._catch()
        assert caught is not None and caught[0].process is alive
        alive.kill()
        alive.wait()
        assert director._catch() is None
        dead.wait()
        assert 0 not in sent


def test_too_small_is_bad_usage(dibs: Run) -> None:
    assert dibs("demo", "--workers", "1").code == 2
    assert dibs("demo", "--tasks", "3").code == 2


@pytest.fixture
def finished(tmp_path: Path) -> tuple[Ledger, list[str]]:
    """A queue with five completed tasks, and a log of their runs."""
    with library.open(str(tmp_path / "queue")) as queue:
        ids = [task.id for task in queue.push_many(range(5))]
        with open(tmp_path / "runs.log", "w") as log:
            for lease in queue.claims():
                lease.complete({"n": 1})
                log.write(f"began {lease.id} 1 7\nfinished {lease.id} 1 7\n")
    return Ledger(str(tmp_path / "queue"), str(tmp_path / "runs.log")), ids


def completed_file(root: Path, task_id: str) -> Path:
    (path,) = (root / "queue" / "completed").rglob(f"{task_id}*")
    return path


def test_ledger_of_a_good_run(finished: tuple[Ledger, list[str]]) -> None:
    ledger, ids = finished
    account = ledger.account(ids)
    assert account.good
    assert (account.completed, account.refused, account.taken_over, account.runs) == (5, 0, 0, 5)


def test_ledger_sees_a_lost_task(finished: tuple[Ledger, list[str]], tmp_path: Path) -> None:
    ledger, ids = finished
    completed_file(tmp_path, ids[0]).unlink()
    account = ledger.account(ids)
    assert account.lost == 1
    assert not account.good


def test_ledger_sees_a_second_file_of_a_task(finished: tuple[Ledger, list[str]], tmp_path: Path) -> None:
    ledger, ids = finished
    path = completed_file(tmp_path, ids[0])
    name = path.name.split(".")
    (path.parent / ".".join([name[0], "2", *name[2:]])).write_bytes(path.read_bytes())
    assert ledger.account(ids).twice == 1


def test_ledger_sees_a_second_completion_record(finished: tuple[Ledger, list[str]], tmp_path: Path) -> None:
    ledger, ids = finished
    (note,) = (tmp_path / "queue" / "notes").rglob(f"{ids[0]}*")
    (note.parent / f"{ids[0]}.2.other-1-aa").write_text(json.dumps({"what": "completed", "at": 1}))
    assert ledger.account(ids).twice == 1


def test_ledger_sees_a_late_finish(finished: tuple[Ledger, list[str]], tmp_path: Path) -> None:
    ledger, ids = finished
    with open(tmp_path / "runs.log", "a") as log:
        log.write(f"began {ids[0]} 3 8\nfinished {ids[0]} 3 8\n")
    assert ledger.account(ids).refused == 1
