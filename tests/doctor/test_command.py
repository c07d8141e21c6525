"""`dibs doctor` on a folder: table, JSON, exit code, clearing up, and two hosts that join."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import dibs
from children import environment
from dibs.doctor.race import tally
from doctor.broken import doctor, levels

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
    code, report = doctor(f"dir:{tmp_path}/some/inputs", "--quick")
    assert code == 0 and "bad" not in levels(report).values()
    assert os.listdir(tmp_path) in ([], ["gitconfig"])


def test_interrupted_it_clears_up(tmp_path: Path) -> None:
    (tmp_path / "q").mkdir()
    with subprocess.Popen([*WORDS, str(tmp_path / "q")], env=environment(), stdout=subprocess.PIPE) as run:
        while not os.listdir(tmp_path / "q"):
            assert run.poll() is None
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=60)
    assert run.returncode == 130
    assert os.listdir(tmp_path / "q") == []


def test_two_hosts_join_by_a_code(tmp_path: Path) -> None:
    words = [*WORDS, str(tmp_path), "--quick", "--hosts", "2"]
    with subprocess.Popen(words, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr is not None
        code = run.stderr.readline().split()[-1]
        joined = subprocess.run(
            [*WORDS, str(tmp_path), "--join", code], env=environment(), capture_output=True, text=True, timeout=120
        )
        out, _ = run.communicate(timeout=120)
    assert joined.returncode == 0, joined.stderr
    rows = {line[10:42].strip(): line[:8].strip() for line in out.splitlines()}
    assert rows["exclusive create, hosts"] == rows["contested rename, hosts"] == rows["locks, hosts"] == "ok", out
    assert run.returncode == 1  # on a local disk: safe on one host, and two took part


def test_winners_are_counted_for_each_round() -> None:
    found = tally([["won", "won", "lost", "EIO"], ["lost", "won", "lost", "won"]])
    assert (found.rounds, found.double, found.none, found.most) == (4, 1, 1, 2)
    assert found.oddities == {"EIO": 1}
    assert not found.one_each
    assert tally([["won"], ["lost"]]).one_each
