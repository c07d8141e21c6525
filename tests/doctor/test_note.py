"""What the note says: what was found, for whom, and by how many hosts; so what two hosts found is not lost by one that
looks again alone, and what is wrong with locks counts for what rests on them."""

import json
from pathlib import Path

import pytest

from dibs.clock import SYSTEM
from dibs.doctor import Finding, Level, Report, Verdict, note
from dibs.doctor.folders import locks
from dibs.doctor.folders.mounts import mount_of
from dibs.values import replace

ROW = Finding(check="file system", tried="t", happened="NFS 4.2", many=True)
UNKNOWN = Finding(check="file system", tried="t", happened="newfs", level=Level.NOTE)
RENAMES = Finding(check="contested rename, hosts", tried="t", happened="one winner each time", many=True, between=2)
TWO_WON = replace(RENAMES, happened="several winners", many=False, level=Level.ONE_HOST)
LOST = replace(
    locks.judged("8 processes on 2 hosts", [[10, 0], [10, 0]], 15, far=True, needed=False),
    check="locks, hosts",
    between=2,
)


def left(place: Path, *findings: Finding, options: tuple[str, ...] = ()) -> note.Note:
    report = Report(place="x", kind=mount_of(str(place)).shown, findings=list(findings), options=list(options))
    assert note.leave(str(place), report, SYSTEM) is not None
    found = note.found(str(place))
    assert found is not None
    return found


def test_locks_that_are_lost_between_hosts_count_for_what_rests_on_them(tmp_path: Path) -> None:
    assert LOST.level is Level.WARNING
    found = left(tmp_path, ROW, RENAMES, LOST)
    assert found.verdict(locks=False) is Verdict.MANY
    assert found.verdict(locks=True) is Verdict.ONE and "additions were lost" in found.reason(locks=True)


def test_the_same_when_a_queue_of_locks_was_asked_about(tmp_path: Path) -> None:
    found = left(tmp_path, ROW, RENAMES, replace(LOST, level=Level.ONE_HOST))
    assert found.verdict(locks=False) is Verdict.MANY
    assert found.verdict(locks=True) is Verdict.ONE


@pytest.mark.parametrize(
    ("here", "between", "verdict"),
    [
        (UNKNOWN, RENAMES, Verdict.MANY),
        (ROW, TWO_WON, Verdict.ONE),
        (ROW, replace(TWO_WON, level=Level.BAD), Verdict.UNSAFE),
    ],
)
def test_a_look_by_one_host_does_not_replace_what_two_found(
    tmp_path: Path, here: Finding, between: Finding, verdict: Verdict
) -> None:
    left(tmp_path, here, between)
    report = Report(place="x", kind=mount_of(str(tmp_path)).shown, findings=[here])
    assert note.remembered(str(tmp_path), report)[0].startswith("2 hosts found here before: contested rename")
    found = left(tmp_path, here)
    assert (found.verdict(locks=False), found.hosts) == (verdict, 2)
    assert left(tmp_path, here).verdict(locks=False) is verdict
    below = tmp_path / "q"
    below.mkdir()
    assert left(below, here).verdict(locks=False) is verdict
    assert Verdict(json.loads((below / ".dibs-doctor.json").read_text())["verdict"]) is verdict


def test_a_look_by_as_many_hosts_does(tmp_path: Path) -> None:
    left(tmp_path, ROW, TWO_WON)
    assert left(tmp_path, ROW, RENAMES).verdict(locks=False) is Verdict.MANY
    left(tmp_path, ROW, TWO_WON)
    joined_itself = replace(RENAMES, between=1, many=False)
    assert left(tmp_path, ROW, joined_itself).verdict(locks=False) is Verdict.ONE


def test_a_mount_with_other_options_is_another_place(tmp_path: Path) -> None:
    left(tmp_path, ROW, TWO_WON, options=("nocto",))
    assert left(tmp_path, ROW).verdict(locks=False) is Verdict.MANY


def test_that_hosts_need_markers_is_kept_as_well(tmp_path: Path) -> None:
    left(tmp_path, ROW, RENAMES, replace(TWO_WON, level=Level.WARNING, marker=True))
    assert left(tmp_path, ROW).steps == "marker"
    assert json.loads((tmp_path / ".dibs-doctor.json").read_text())["steps"] == "marker"


@pytest.mark.parametrize("verdict", [Verdict.MANY, Verdict.ONE, Verdict.UNSAFE])
def test_a_note_of_an_older_dibs_says_what_it_said(tmp_path: Path, verdict: Verdict) -> None:
    kind = mount_of(str(tmp_path)).shown
    record = {"verdict": str(verdict), "reason": "c: h", "kind": kind, "hosts": 2, "at": "2026-01-01T00:00:00Z"}
    (tmp_path / ".dibs-doctor.json").write_text(json.dumps(record))
    found = note.found(str(tmp_path))
    assert found is not None
    for rests in (True, False):
        assert (found.verdict(locks=rests), found.reason(locks=rests)) == (verdict, "c: h")
    assert left(tmp_path, UNKNOWN).verdict(locks=False) is verdict
