"""Disks of kinds that few machines can mount, inside a User-Mode Linux: the doctor, and a queue over two paths."""

import json
import os
from pathlib import Path

import pytest

from filesystems import uml
from filesystems.hosts_judge import BAD
from filesystems.kinds import ONE

LONG = bool(os.environ.get("DIBS_LONG"))
TASKS = 2000 if LONG else 120
SECONDS = 900


@pytest.mark.parametrize("kind", uml.DISKS if LONG else ["vfat"])
def test_a_disk_is_safe_on_one_host(kind: str, tmp_path: Path) -> None:
    uml.run(kind, tmp_path, SECONDS, TASKS=TASKS, FORMS="file")
    reports = {name: tmp_path / f"{name}.json" for name in ("doctor", "file")}
    assert all(path.exists() for path in reports.values()), uml.said(tmp_path)
    doctor, chaos = (json.loads(path.read_text()) for path in reports.values())
    assert (doctor["verdict"], doctor["kind"]) == (ONE, kind), (doctor["findings"], uml.said(tmp_path))
    assert {what: chaos[what] for what in BAD} == {what: [] for what in BAD}, chaos
    assert chaos["completed"] == chaos["pushed"] == TASKS
    assert chaos["kills"] and chaos["cuts"], chaos
