"""`dibs doctor` on a folder: table, JSON, exit code, clearing up, and two hosts that join."""

import errno
import glob
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import dibs
from children import environment
from dibs.cli import doctor as command
from dibs.doctor import Finding, Level, Report, examine
from dibs.doctor.folders import battery, exclusive, ground, hosting, locks, room
from dibs.doctor.race import tally
from dibs.errors import StorageError
from doctor.broken import doctor, killed_midway, levels
from doctor.broken import words as said

WORDS = [sys.executable, "-m", "dibs", "doctor"]


def test_a_table_and_one_line_with_the_verdict(tmp_path: Path) -> None:
    (tmp_path / "q").mkdir()
    done = subprocess.run([*WORDS, str(tmp_path / "q"), "--quick"], env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["CHECK", "TRIED", "WHAT", "HAPPENED"]
    assert lines[-1].startswith("safe on one host")
    assert any(re.match(r"feeds (about|more than) [\d,]+ workers", line) for line in lines)
    assert done.stderr == ""
    assert os.listdir(tmp_path / "q") == [".dibs-doctor.json"]


def test_a_queue_at_work_is_not_touched(tmp_path: Path) -> None:
    with dibs.open(str(tmp_path / "q")) as queue:
        queue.push({"n": 1})
        before = queue.stats().states
        code, _ = doctor(str(tmp_path / "q"), "--quick", "--no-note")
        assert code == 0
        assert queue.stats().states == before
        assert not [name for name in os.listdir(tmp_path / "q") if name.startswith(".")]
        lease = queue.claim()
        assert lease is not None
        lease.complete()


def test_a_folder_that_is_not_there_yet_is_looked_at_from_above(tmp_path: Path) -> None:
    code, report = doctor(f"dir:{tmp_path}/inputs", "--quick")
    assert code == 0 and not levels(report).keys() & {"place"}
    assert f"{tmp_path}/inputs is not there yet" in said(report, "place")
    assert report["note"] == f"{tmp_path}/.dibs-doctor.json"
    assert [name for name in os.listdir(tmp_path) if name != "gitconfig"] == [".dibs-doctor.json"]


def test_a_note_that_stands_above_the_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "q").mkdir()
    told = f"{tmp_path}/.dibs-doctor.json, and counts for all below"
    for place, above in (("new", True), ("q", False)):
        words = [*WORDS, str(tmp_path / place), "--quick"]
        done = subprocess.run(words, env=environment(), capture_output=True, text=True)
        assert (told in done.stdout) == above, done.stdout
        assert done.stdout.splitlines()[-1].startswith("safe on one host")


def test_a_path_that_leads_nowhere_is_worth_a_warning(tmp_path: Path) -> None:
    _, report = doctor(f"{tmp_path}/mnt/share/q", "--quick", "--no-note")
    assert levels(report)["place"] == "warning"
    assert said(report, "place") == f"{tmp_path}/mnt is not there: {tmp_path} was examined instead"


@pytest.mark.parametrize("below", ["", "/q"])
def test_a_file_is_no_place(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").touch()
    words = [*WORDS, f"{tmp_path}/file{below}", "--quick"]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True)
    assert done.returncode == 2
    assert f"{tmp_path}/file is no folder" in done.stderr


def test_what_may_not_be_written_is_said_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str, **_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    monkeypatch.setattr(ground.os, "makedirs", refuse)
    with pytest.raises(StorageError) as caught:
        examine(str(tmp_path), quick=True)
    assert str(caught.value).startswith(f"storage refused {tmp_path}") and "denied" in str(caught.value)
    assert str(caught.value).endswith("; check the owner and mode of the folder")


def test_what_is_known_not_to_be_safe_is_said_though_it_may_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str, **_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    bad = Finding(check="file system", tried="looked up", happened="h", level=Level.BAD)
    monkeypatch.setattr(battery.kind, "check", lambda _: iter([bad]))
    monkeypatch.setattr(ground.os, "makedirs", refuse)
    assert examine(str(tmp_path), quick=True).reason == "file system: h"


def test_too_little_room_to_try_anything_is_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.statvfs(tmp_path)
    few = SimpleNamespace(
        f_bavail=real.f_bavail, f_frsize=real.f_frsize, f_blocks=real.f_blocks, f_files=100, f_favail=3
    )
    monkeypatch.setattr(room.os, "statvfs", lambda _: few)
    report = examine(str(tmp_path), quick=True)
    assert report.reason.startswith("room:") and not report.lasting
    assert report.findings[-1].check == "room"


def test_what_is_wrong_is_said_before_all_is_tried_on_a_slow_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = Finding(check="names", tried="t", happened="h", level=Level.BAD)
    monkeypatch.setattr(battery.names, "check", lambda _: iter([bad]))
    monkeypatch.setattr(battery, "ENOUGH_SECONDS", 0.0)
    report = examine(str(tmp_path), quick=True)
    assert report.findings[-1].check == "the rest"
    assert report.reason == "names: h"


def test_a_race_to_which_nobody_came_is_no_proof() -> None:
    assert exclusive.judged("create", 4, tally([[], []])).level is Level.BAD


def test_interrupted_it_clears_up(tmp_path: Path) -> None:
    (tmp_path / "q").mkdir()
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*WORDS, str(tmp_path / "q")], env=environment(), text=True, **pipes) as run:
        while not os.listdir(tmp_path / "q"):
            assert run.poll() is None
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=60)
    assert (run.returncode, said) == (130, "stopped; what was made for the examination is removed\n")
    assert os.listdir(tmp_path / "q") == []


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP])
def test_told_to_end_it_clears_up(tmp_path: Path, how: int) -> None:
    (tmp_path / "q").mkdir()
    assert killed_midway(str(tmp_path / "q"), lambda: bool(os.listdir(tmp_path / "q")), how) == 128 + how
    assert os.listdir(tmp_path / "q") == []


def test_what_a_killed_one_left_is_removed_by_the_next(tmp_path: Path) -> None:
    (tmp_path / "q").mkdir()
    killed_midway(str(tmp_path / "q"), lambda: bool(glob.glob(f"{tmp_path}/q/.*/first")))
    assert os.listdir(tmp_path / "q")
    doctor(str(tmp_path / "q"), "--quick", "--no-note")
    assert os.listdir(tmp_path / "q") == []


def test_a_code_that_nobody_gave_is_said_soon(tmp_path: Path) -> None:
    words = [*WORDS, str(tmp_path), "--join", "abc123"]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True)
    assert done.returncode == 2
    looking, refusal, *_ = done.stderr.splitlines()
    assert looking.endswith(f"looking for code abc123 in {tmp_path}, for up to 3 s")
    assert "nobody has begun with code abc123" in refusal


def test_an_empty_code_joins_nobody(tmp_path: Path) -> None:
    done = subprocess.run([*WORDS, str(tmp_path), "--join", ""], env=environment(), capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "code '' is not acceptable" in done.stderr


def test_the_command_that_joins_can_be_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosting, "WAIT_SECONDS", 0.0)
    place, told = tmp_path / "my share", []
    place.mkdir()
    examine(str(place), quick=True, hosts=2, tell=told.append)
    command = next(words for words in told if words.startswith("!")).partition(": ")[2]
    assert shlex.split(command)[:4] == ["dibs", "doctor", str(place), "--join"]


def test_nobody_begins_and_joins_at_once(tmp_path: Path) -> None:
    words = [*WORDS, str(tmp_path), "--hosts", "2", "--join", "abc123"]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True)
    assert done.returncode == 2
    assert "--hosts begins an examination, --join takes part in one" in done.stderr


def test_warnings_are_counted_where_it_is_safe_for_fewer_hosts_than_took_part(
    capsys: pytest.CaptureFixture[str],
) -> None:
    warning = Finding(check="other hosts", tried="t", happened="h", level=Level.WARNING)
    command._print(Report(place="x", hosts=2, findings=[warning]), "")
    assert capsys.readouterr().out.splitlines()[-1].startswith("safe on one host, with 1 warning: ")


def test_by_a_code_others_join_and_one_machine_that_joins_itself_is_not_two_hosts(tmp_path: Path) -> None:
    unknown = [sys.executable, "-m", "doctor.pretend", "newfs", "doctor", str(tmp_path)]
    words = [*unknown, "--quick", "--hosts", "2", "--json"]
    with subprocess.Popen(words, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr is not None
        code = run.stderr.readline().split()[-1]
        join = [*unknown, "--join", code]
        joined = subprocess.run(join, env=environment(), capture_output=True, text=True, timeout=120)
        out, _ = run.communicate(timeout=120)
    assert joined.returncode == 0, joined.stderr
    report = json.loads(out)
    found = {one["check"]: one["level"] for one in report["findings"]}
    assert found["exclusive create, hosts"] == found["contested rename, hosts"] == found["locks, hosts"] == "good", out
    assert (run.returncode, report["verdict"]) == (1, "safe on one host")
    assert "all who joined are on this machine" in said(report, "other hosts")
    assert "2 hosts" not in out
    looks = [one["tried"] for one in report["findings"] if one["check"].endswith("files, hosts")]
    assert looks == ["once, by other processes on one machine"] * 4


def test_additions_that_cannot_be_counted_are_told_as_they_are() -> None:
    gone = locks.judged("6 processes", [[30, 0]], None)
    assert gone.level is Level.BAD and "could not be read any more" in gone.happened
    more = locks.judged("6 processes", [[30, 2]], 31)
    assert more.level is Level.WARNING and "1 took effect though the storage said no" in more.happened
    odd = locks.judged("6 processes", [[30, 0]], 31)
    assert odd.level is Level.BAD and "31 where 30 were made" in odd.happened
    assert locks.judged("6 processes", [[30, 0]], 28).happened.startswith("2 additions were lost")


def test_winners_are_counted_for_each_round() -> None:
    found = tally([["won", "won", "lost", "EIO"], ["lost", "won", "lost", "won"]])
    assert (found.rounds, found.double, found.none, found.most) == (4, 1, 1, 2)
    assert found.oddities == {"EIO": 1}
    assert not found.one_each
    assert tally([["won"], ["lost"]]).one_each
