"""NFS 4.2 and SMB 3.1.1, served and mounted twice inside a User-Mode Linux: the doctor, and a queue with kills."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from children import environment
from filesystems.mounting import CannotMountError, need

NEEDED = {"nfs": ("rpc.nfsd", "exportfs", "mount.nfs4"), "smb": ("smbd", "mount.cifs")}
LOST = [
    "lost",
    "not run",
    "completed twice",
    "claimed twice at an epoch",
    "completed but not so on disk",
    "problems",
    "broke",
]


@pytest.mark.parametrize("kind", NEEDED)
def test_a_share_is_safe_for_many_hosts(kind: str, tmp_path: Path) -> None:
    need("linux.uml", "modprobe", *(f"/usr/sbin/{name}" if name.startswith("rpc") else name for name in NEEDED[kind]))
    if any(" " in str(path) for path in (tmp_path, sys.executable)):
        raise CannotMountError("a space in the path of the tests or of Python")
    (tmp_path / "vol").mkdir()
    given = {
        "KIND": kind,
        "WORK": str(tmp_path),
        "TASKS": "2000" if os.environ.get("DIBS_LONG") else "400",
        "PYTHON": sys.executable,
        "PYTHONPATH": environment()["PYTHONPATH"],
    }
    script = str(Path(__file__).with_name("uml.sh"))
    words = ["linux.uml", "mem=768M", "rootfstype=hostfs", "rootflags=/", "rw", "con=null", "con0=null", "init=/bin/sh"]
    words += [*(f"{name}={value}" for name, value in given.items()), "--", script]
    subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=400, check=False)
    log = (tmp_path / "log").read_text() if (tmp_path / "log").exists() else ""
    if f"{tmp_path}/vol/two" not in log:
        raise CannotMountError(f"the share was not mounted in User-Mode Linux: {log[-300:]}")
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["verdict"] == "safe for many hosts", report["findings"]
    chaos = json.loads((tmp_path / "chaos.json").read_text().splitlines()[-1])
    wrong = LOST if kind == "nfs" else [what for what in LOST if what != "not run"]  # SMB is too slow to end in time
    assert {what: chaos[what] for what in wrong} == {what: [] for what in wrong}
    assert chaos["completed"] and chaos["kills"] + chaos["stops"]
