"""What the doctor says of real file systems, on one host and over two mounts."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from children import environment
from doctor.broken import doctor
from filesystems.kinds import GATEWAYS, LOCAL, ONE, UNSAFE
from servers.server import Server


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
        code, report = together(one, two)
        assert report["verdict"] in LOCAL[kind].shared, report["findings"]
        assert code == 1


@pytest.mark.parametrize("kind", GATEWAYS)
def test_buckets_behind_a_mount_are_not_for_several_hosts(kind: str, tmp_path: Path, seaweed: Server) -> None:
    with GATEWAYS[kind](tmp_path, seaweed) as (one, two):
        code, report = together(one, two)
        assert report["verdict"] in (ONE, UNSAFE), report["findings"]
        assert code == 1
        assert report["kind"] == f"fuse.{kind}"


def together(one: Path, two: Path) -> tuple[int, dict[str, Any]]:
    """Both mounts at once, as two hosts would."""
    words = [sys.executable, "-m", "dibs", "doctor", str(one), "--quick", "--json", "--hosts", "2"]
    with subprocess.Popen(words, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as begun:
        assert begun.stderr is not None
        code = begun.stderr.readline().split()[-1]
        join = [sys.executable, "-m", "dibs", "doctor", str(two), "--join", code]
        joined = subprocess.run(join, env=environment(), capture_output=True, text=True, timeout=300)
        if joined.returncode:
            begun.kill()
        out, _ = begun.communicate(timeout=300)
    assert joined.returncode == 0, joined.stderr
    return begun.returncode, json.loads(out)
