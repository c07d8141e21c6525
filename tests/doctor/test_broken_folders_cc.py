"""A file system with one fault is found out, and its fault named, within 30 s. One without is not blamed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import dibs
from children import environment
from dibs.clock import SYSTEM
from dibs.doctor import note
from dibs.doctor.trust import trust
from dibs.host import this_host
from doctor.broken import contested, doctor, levels, library, words

ATOMIC = {"contested rename": "bad", "atomic rename": "bad", "replacing rename": "bad"}
# fault -> (what must be found, in which words, the verdict)
FAULTS = {
    "create": ({"exclusive create": "bad"}, "several winners", "not safe"),
    "link": ({"exclusive link": "bad"}, "several winners", "not safe"),
    "rename": (ATOMIC, "several winners", "not safe"),
    "frozen": ({"time stamps": "bad"}, "stands still", "not safe"),
    "locks": ({"locks": "bad"}, "additions were lost", "not safe"),
    "listing": ({"listing new files": "warning"}, "it lags: up to", "safe on one host"),
    "clock": ({"clock": "warning"}, "1.0 h ahead of this host's", "safe on one host"),
    "unsynced": ({"sync": "warning"}, "faster than a disk", "safe on one host"),
    "slow": ({"sync": "warning"}, "a slow disk", "safe on one host"),
}


@pytest.mark.parametrize("quick", [["--quick"], []], ids=["quick", "whole"])
@pytest.mark.parametrize("fault", FAULTS)
def test_it_is_found_and_named(
    fault: str, quick: list[str], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    expected, said, verdict = FAULTS[fault]
    preload = str(library(tmp_path_factory.getbasetemp()))
    code, report = doctor(str(tmp_path), *quick, LD_PRELOAD=preload, DIBS_BROKEN=fault)
    assert report["seconds"] <= 30
    found = levels(report)
    first = next(iter(expected))
    if quick:  # few rounds, in which a busy machine may not look at the right moment: one finding must be sure
        expected = {first: expected[first]}
    assert expected.items() <= found.items(), report["findings"]
    assert said in words(report, first)
    assert report["verdict"] == verdict
    assert code == (verdict == "not safe")
    if verdict == "not safe":
        assert report["reason"].startswith(first) and report["remedy"]


@pytest.mark.parametrize("scheme", ["file", "dir", "specs"])
def test_without_locks_what_rests_on_them_is_not_safe(
    scheme: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    preload = str(library(tmp_path_factory.getbasetemp()))
    code, report = doctor(f"{scheme}:{tmp_path}/q", LD_PRELOAD=preload, DIBS_BROKEN="nolocks")
    assert "not offered" in words(report, "locks") and report["seconds"] <= 30
    rests = scheme != "file"
    assert (levels(report)["locks"], code) == ("bad" if rests else "warning", int(rests)), report["findings"]
    assert report["verdict"] == ("not safe" if rests else "safe on one host")
    for other in ("file", "dir", "specs"):
        refused = trust(f"{other}:{tmp_path}/q", this_host(), SYSTEM.wall).refusal
        assert ("is not safe: locks: not offered" in refused) == (other != "file"), (other, refused)


def test_a_dead_mount_is_not_taken_for_the_disk_above(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (tmp_path / "share").mkdir()
    around = {"LD_PRELOAD": str(library(tmp_path_factory.getbasetemp())), "DIBS_BROKEN": "dead"}
    for place in ("share", "share/queues/q"):
        done = subprocess.run(
            [sys.executable, "-m", "dibs", "doctor", str(tmp_path / place), "--quick"],
            env={**environment(), **around, "DIBS_BROKEN_BELOW": f"{tmp_path}/share"}, capture_output=True, text=True,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (1, ""), done.stdout
        assert f"{tmp_path}/{place}: Transport endpoint is not connected" in done.stderr
        assert "mount it again" in done.stderr
    assert list(tmp_path.glob(".dibs-doctor*")) == []


def test_stamps_of_two_seconds_are_no_fault(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    preload = str(library(tmp_path_factory.getbasetemp()))
    code, report = doctor(str(tmp_path), "--quick", LD_PRELOAD=preload, DIBS_BROKEN="coarse")
    assert (code, report["verdict"]) == (0, "safe on one host"), report["findings"]
    assert words(report, "time stamps") == "the time stamp goes on"
    assert words(report, "time stamp steps") == "2000 ms"
    assert "seeing time stamps" not in levels(report)


def test_a_full_disk_says_nothing_about_the_place(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    preload = str(library(tmp_path_factory.getbasetemp()))
    code, report = doctor(str(tmp_path), "--quick", LD_PRELOAD=preload, DIBS_BROKEN="full")
    assert (code, report["verdict"]) == (1, "no verdict")
    assert "there is no room" in report["reason"]
    assert report["remedy"] == "free some, and run the doctor again"
    assert note.found(str(tmp_path)) is None


def test_what_was_found_before_there_was_a_queue_counts_for_it(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    preload = str(library(tmp_path_factory.getbasetemp()))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").touch()
    for place, url in (("share", str(tmp_path / "share/q")), ("", f"dir:{tmp_path}/in")):
        (tmp_path / place).mkdir(exist_ok=True)
        code, _ = doctor(url, "--quick", LD_PRELOAD=preload, DIBS_BROKEN="create")
        assert code == 1
        if place:
            dibs.open(url).push({})
        refused = subprocess.run(
            [sys.executable, "-m", "dibs", "work", url, "--until-empty", "--", "true"],
            env=environment(), capture_output=True, text=True,
        )  # fmt: skip
        assert refused.returncode == 1
        assert "is not safe: exclusive create" in refused.stderr and "run `dibs doctor" in refused.stderr


def test_the_same_without_a_fault_is_in_order(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    preload = str(library(tmp_path_factory.getbasetemp()))
    code, report = doctor(str(tmp_path), "--quick", LD_PRELOAD=preload, DIBS_BROKEN="none")
    assert code == 0
    assert report["verdict"] != "not safe"
    assert not [check for check, level in levels(report).items() if level == "bad"]


def test_where_only_a_contested_rename_is_at_fault_queues_go_by_markers(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    code, report = doctor(str(tmp_path), "--quick", **contested(tmp_path_factory.getbasetemp()))
    assert levels(report).get("contested rename") == "one host", report["findings"]
    assert "several winners" in words(report, "contested rename")
    assert words(report, "rename with markers") == "one winner each time"
    assert (code, report["verdict"], report["steps"]) == (0, "safe on one host", "marker")
    assert any("steps=marker" in line for line in report["advice"])
    found = note.found(str(tmp_path))
    assert found is not None and found.steps == "marker"
    plain = dibs.open(f"{tmp_path}/plain?steps=rename")
    made = dibs.open(f"{tmp_path}/made")
    assert json.loads((tmp_path / "made/dibs.json").read_text())["steps"] == "marker"
    refused = trust(str(tmp_path / "plain"), this_host(), SYSTEM.wall)
    assert "need markers" in refused.refusal and "?steps=marker" in refused.remedy
    assert trust(str(tmp_path / "made"), this_host(), SYSTEM.wall).refusal == ""
    assert trust(str(tmp_path / "none yet"), this_host(), SYSTEM.wall).refusal == ""
    plain.close()
    made.close()


def test_between_hosts_markers_are_tried_as_well(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    around = {**environment(), **contested(tmp_path_factory.getbasetemp())}
    command = [sys.executable, "-m", "dibs", "doctor", str(tmp_path), "--quick"]
    with subprocess.Popen(
        [*command, "--hosts", "2", "--json"], env=around, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stderr is not None
        code = run.stderr.readline().split()[-1]
        joined = subprocess.run([*command, "--join", code], env=around, capture_output=True, text=True, timeout=120)
        out, _ = run.communicate(timeout=120)
    assert joined.returncode == 0, joined.stderr
    report = json.loads(out)
    found = {one["check"]: one for one in report["findings"]}
    assert found["contested rename, hosts"]["level"] == "warning", report["findings"]
    assert found["rename with markers, hosts"]["happened"].startswith("one winner each time; this host won")
    assert report["steps"] == "marker"
