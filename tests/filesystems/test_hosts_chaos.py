"""Two machines on one folder: their processes are killed and stopped, their power is cut, and the disk is full for a
while and read-only for a while."""

import json
import random
import subprocess
import time
from pathlib import Path

import pytest

from children import command, environment
from filesystems.hosts_judge import BAD
from filesystems.mounting import loop

HOLD = "0.03"  # seconds: they are to be at work while the disk is full, and read-only
TASKS = {"file": 10_000, "dir": 1_000, "keys": 300}


@pytest.mark.parametrize("form", TASKS)
def test_nothing_is_lost_or_completed_twice_and_workers_go_on(form: str, tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    logs = tmp_path / "logs"
    logs.mkdir()
    with loop(tmp_path, "ext4", size_mb=120) as (point,):
        script = command("filesystems.hosts_chaos", form, str(point), str(logs), str(seed), str(TASKS[form]))
        with subprocess.Popen(
            script,
            env={**environment(), "DIBS_CHAOS_HOLD": HOLD},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as run:
            assert run.stdout is not None and run.stdout.readline() == "go\n"
            filled = full_for_a_while(point)
            read_only = read_only_for_a_while(point)
            out, errors = run.communicate(timeout=400)
        assert run.returncode == 0, f"seed {seed}: {errors}"
        report = json.loads(out)
    print({what: count for what, count in report.items() if what not in BAD})
    assert {what: report[what] for what in BAD} == {what: [] for what in BAD}, f"seed {seed}"
    if form == "keys":  # many pushes are of one task, and who pushed may die before it can say so
        assert report["completed"] >= report["pushed"] > 0
    else:
        assert report["completed"] == report["pushed"] == TASKS[form]
    assert filled and read_only
    assert report["troubles told"] and report["completed by command"]
    assert report["kills"] and report["stops"] and report["cuts"]


def full_for_a_while(point: Path) -> bool:
    """Whether it was full."""
    full = False
    with (point / "big").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * (1 << 16))
        except OSError:
            full = True
        time.sleep(2.0)
    (point / "big").unlink()
    return full


def read_only_for_a_while(point: Path) -> bool:
    """Whether it was read-only: that is refused as long as anybody has a file open for writing."""
    for _ in range(400):
        if subprocess.run(["mount", "-o", "remount,ro", str(point)], capture_output=True).returncode == 0:
            time.sleep(2.0)
            subprocess.run(["mount", "-o", "remount,rw", str(point)], check=True)
            return True
        time.sleep(0.02)
    return False
