"""What the doctor says of real file systems, on one host and over two mounts (of all gateways with DIBS_LONG)."""

import os
from pathlib import Path
from typing import Any

import pytest

from doctor.broken import doctor
from filesystems.chaos import kills_lose_nothing
from filesystems.doctors import together
from filesystems.kinds import GATEWAYS, LOCAL, ONE, UNSAFE
from servers.server import Server

FEW_TASKS = 30  # each takes requests to a bucket
LONG = bool(os.environ.get("DIBS_LONG"))


@pytest.mark.parametrize("kind", LOCAL)
def test_on_one_host(kind: str, tmp_path: Path) -> None:
    with LOCAL[kind].mount(tmp_path) as points:
        _, report = doctor(str(points[0]), "--quick")
        assert report["verdict"] in LOCAL[kind].alone, report["findings"]
        assert kind in report["kind"]
        assert [path.name for path in points[0].iterdir() if path.name.startswith(".dibs-doctor-")] == []


@pytest.mark.parametrize("kind", [kind for kind in LOCAL if LOCAL[kind].shared])
def test_over_two_mounts(kind: str, tmp_path: Path) -> None:
    with LOCAL[kind].mount(tmp_path) as (one, two):
        code, report = together(one, two, tmp_path / "machines")
        assert report["verdict"] in LOCAL[kind].shared, report["findings"]
        assert code == 1
        assert "listing deleted files" in wrong_between_hosts(report)  # locks too, but that takes luck to see
        assert "contested rename" not in wrong_between_hosts(report)


@pytest.mark.parametrize("kind", GATEWAYS)
def test_a_bucket_behind_a_mount(kind: str, tmp_path: Path, seaweed: Server) -> None:
    mount, verdicts = GATEWAYS[kind]
    with mount(tmp_path, seaweed) as (one, _):
        _, report = doctor(str(one), "--quick")
        assert report["verdict"] in verdicts, report["findings"]
        assert report["kind"] == f"fuse.{kind}" and report["remedy"]
        if report["verdict"] == ONE:
            kills_lose_nothing(one / "q", FEW_TASKS)  # what is called safe must be so


@pytest.mark.parametrize("kind", GATEWAYS if LONG else ["s3fs"])
def test_buckets_behind_a_mount_are_not_for_several_hosts(kind: str, tmp_path: Path, seaweed: Server) -> None:
    with GATEWAYS[kind][0](tmp_path, seaweed) as (one, two):
        code, report = together(one, two, tmp_path / "machines")
        assert report["verdict"] in (ONE, UNSAFE), report["findings"]
        assert code == 1
        assert report["kind"] == f"fuse.{kind}"
        assert "exclusive create" in wrong_between_hosts(report), report["findings"]


def wrong_between_hosts(report: dict[str, Any]) -> set[str]:
    """Found by trying, whatever is known of the file system."""
    found = [one for one in report["findings"] if one["check"].endswith(", hosts")]
    assert found and all("2 hosts" in one["tried"] or "another host" in one["tried"] for one in found)
    return {one["check"].removesuffix(", hosts") for one in found if one["level"] not in ("good", "note")}
