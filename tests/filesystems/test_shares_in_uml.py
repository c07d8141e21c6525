"""NFS 4.2 and SMB 3.1.1, served and mounted twice inside a User-Mode Linux: the doctor, queues and an index."""

import json
import os
from pathlib import Path

import pytest

from filesystems import index_chaos, uml
from filesystems.hosts_judge import BAD

LONG = bool(os.environ.get("DIBS_LONG"))
TASKS = {"nfs": 2000, "smb": 200} if LONG else {"nfs": 150, "smb": 24}  # SMB takes tenths of a second for each
SECONDS = 1500 if LONG else 900
FORMS = ("file", "keys", "dir") if LONG else ("keys", "dir")
LEASE = {"LEASE": 20} if LONG else {}


@pytest.mark.parametrize("kind", uml.SHARES)
def test_a_share_is_safe_for_many_hosts(kind: str, tmp_path: Path) -> None:
    uml.run(kind, tmp_path, SECONDS, TASKS=TASKS[kind], FORMS=",".join((*FORMS, "index")), **LEASE)
    reports = {name: tmp_path / f"{name}.json" for name in ("doctor", *FORMS, "index")}
    assert all(path.exists() for path in reports.values()), uml.said(tmp_path)
    report = json.loads(reports["doctor"].read_text())
    assert report["verdict"] == "safe for many hosts", (report["findings"], uml.said(tmp_path))
    for form in FORMS:
        chaos = json.loads(reports[form].read_text())
        assert {what: chaos[what] for what in BAD} == {what: [] for what in BAD}, (form, chaos)
        assert chaos["completed"] and chaos["kills"] + chaos["stops"], (form, chaos)
    index = json.loads(reports["index"].read_text())
    if kind == "smb":
        assert "no index can be kept on the SMB share" in index["refused"]
    else:
        assert {what: index[what] for what in index_chaos.BAD} == {what: [] for what in index_chaos.BAD}, index
        assert all(index[what] for what in ("completed", "read", "merged", "kills")), index
