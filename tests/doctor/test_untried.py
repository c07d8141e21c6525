"""What could not be tried is no verdict: it is said, the exit code is 1, and no note is left. Whoever is ended while
hosts examine a place together lets the other know, and leaves nothing."""

import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from children import environment
from dibs.cli import doctor as command
from dibs.clock import SYSTEM
from dibs.doctor import Finding, Level, Report, Verdict, examine, note
from dibs.doctor.folders import hosting, plan
from doctor.together import DOCTOR, begun, children, joined, left_in, until

RACING = "create/0"
UNTRIED = Finding(check="locks", tried="begun", happened="could not be tried: x", level=Level.BAD, passing=True)
BAD = Finding(check="names", tried="t", happened="h", level=Level.BAD)


def test_it_is_none_unless_something_was_found_wrong() -> None:
    report = Report(place="x", findings=[Finding(check="file system", tried="t", happened="h", many=True), UNTRIED])
    assert (report.verdict, report.safe, report.lasting) == (Verdict.NONE, False, False)
    assert report.reason == "locks: could not be tried: x"
    report.findings.append(BAD)
    assert (report.verdict, report.lasting, report.reason) == (Verdict.UNSAFE, True, "names: h")


def test_a_process_of_the_doctor_that_was_killed_says_nothing_of_the_place(tmp_path: Path) -> None:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*DOCTOR, str(tmp_path)], env=environment(), text=True, **pipes) as run:
        until(lambda: list(tmp_path.glob(f".dibs-doctor-*/{RACING}")), run)
        os.kill(children(run.pid)[2], signal.SIGKILL)
        out, _ = run.communicate(timeout=60)
    last = out.splitlines()[-1]
    assert run.returncode == 1
    assert last.startswith("no verdict: ") and "a process of the doctor ended: signal 9" in last
    assert out.count("could not be tried") == last.count("could not be tried") + 1  # in the table, and in the end
    assert left_in(tmp_path) == []


def test_nobody_who_joins_leaves_an_earlier_note_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    earlier = Report(place="x", findings=[Finding(check="c", tried="t", happened="h", many=True)])
    path = note.leave(str(tmp_path), earlier, SYSTEM)
    assert path is not None
    before = Path(path).read_bytes()
    monkeypatch.setattr(hosting, "WAIT_SECONDS", 0.2)
    report = examine(str(tmp_path), quick=True, hosts=2)
    assert report.verdict is Verdict.NONE and "0 of 1 joined" in report.reason
    assert command._leave_note(str(tmp_path), report) is None
    assert Path(path).read_bytes() == before


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_joiner_that_is_ended_lets_the_host_know_at_once(tmp_path: Path, how: int) -> None:
    with begun(str(tmp_path), tmp_path) as host, joined(str(tmp_path), host.code) as joiner:
        until((host.folder / RACING).exists, host.run, joiner)
        joiner.send_signal(how)
        report = host.report()
        joiner.communicate(timeout=60)
    assert (host.run.returncode, report["verdict"], report["note"]) == (1, "no verdict", None)
    assert " has left" in report["reason"] and report["reason"].startswith("other hosts: could not be tried: ")
    assert report["seconds"] <= 30
    assert left_in(tmp_path) == []


def test_a_joiner_that_left_before_there_was_a_plan_does_not_count(tmp_path: Path) -> None:
    words = [*DOCTOR, str(tmp_path), "--quick", "--json", "--hosts", "3"]
    with subprocess.Popen(words, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr is not None
        code = run.stderr.readline().split()[-1]
        folder = tmp_path / f".dibs-doctor-{code}" / "hosts"
        for number in (1, 2, 3):
            with joined(str(tmp_path), code) as joiner:
                until(lambda wanted=number: len(list(folder.glob("hello-*.json"))) == wanted, run, joiner)
                joiner.send_signal(signal.SIGTERM)
                joiner.communicate(timeout=60)
        assert not (folder / "plan.json").exists() and run.poll() is None
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=60)


def test_a_joiner_that_was_killed_is_waited_for_in_vain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "ANSWER_SECONDS", 0.5)
    monkeypatch.setattr(plan, "LOOK_SECONDS", 0.5)
    told: list[str] = []
    found: list[Report] = []
    heard = threading.Event()

    def tell(words: str) -> None:
        if words.startswith("!"):
            told.append(words)
            heard.set()

    thread = threading.Thread(target=lambda: found.append(examine(str(tmp_path), quick=True, hosts=2, tell=tell)))
    thread.start()
    assert heard.wait(60)
    code = told[0].split()[-1]
    with joined(str(tmp_path), code) as joiner:
        until((tmp_path / f".dibs-doctor-{code}" / "hosts" / RACING).exists, joiner)
        joiner.kill()
        thread.join(120)
    assert found[0].verdict is Verdict.NONE
    assert "1 host(s) did not answer in time" in found[0].reason
    assert left_in(tmp_path) == []


@pytest.mark.parametrize("race", ["create/0", "rename/*.host-*", "marked/*.host-*"])
def test_a_host_that_is_ended_leaves_nothing_and_the_joiner_says_so(tmp_path: Path, race: str) -> None:
    with begun(str(tmp_path), tmp_path) as host, joined(str(tmp_path), host.code) as joiner:
        until(lambda: list(host.folder.glob(race)), host.run, joiner)
        host.run.send_signal(signal.SIGTERM)
        host.run.communicate(timeout=60)
        _, said = joiner.communicate(timeout=60)
    assert joiner.returncode == 1
    last = said.splitlines()[-1]
    assert "the host that began has ended" in last and "Error" not in last
    assert left_in(tmp_path) == []
