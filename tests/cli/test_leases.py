import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from waiting import PATIENCE

from .conftest import PROGRAM, Run, environment

Claim = Callable[..., dict[str, Any]]


def test_claim_prints_a_line_for_each_lease(dibs: Run) -> None:
    dibs("push", "q", '{"n": 1}', "--key", "k", "--priority", "high", "--project", "p", "--label", "x")
    dibs("push", "q", '{"n": 2}')
    result = dibs("claim", "q", "--limit", "5", "--ttl", "5m")
    assert result.code == 0
    first, second = result.lines
    assert set(first) == {
        "id", "epoch", "key", "payload", "priority", "project", "labels", "attempts", "deaths", "worker", "ttl",
        "expires_at",
    }  # fmt: skip
    assert (first["epoch"], first["key"], first["payload"], first["priority"]) == (1, "k", {"n": 1}, 100)
    assert (first["project"], first["labels"], first["ttl"]) == ("p", ["x"], 300.0)
    assert second["payload"] == {"n": 2}
    assert first["expires_at"].endswith("Z")


def test_nothing_to_claim_is_exit_code_3(dibs: Run) -> None:
    dibs("push", "q", "1")
    assert dibs("claim", "q").code == 0
    empty = dibs("claim", "q")
    assert (empty.code, empty.out, empty.err) == (3, "", "")
    assert dibs("claim", "q", "--wait", "0.05").code == 3


def test_wait_ends_as_soon_as_there_is_a_task(dibs: Run, tmp_path: Path) -> None:
    dibs("push", "q", "1")
    dibs("claim", "q")
    with subprocess.Popen(
        [PROGRAM, "claim", "q", "--wait", "forever"], cwd=tmp_path, stdout=subprocess.PIPE, env=environment()
    ) as waiting:
        dibs("push", "q", '"late"')
        out, _ = waiting.communicate(timeout=PATIENCE)
    assert waiting.returncode == 0
    assert b'"payload":"late"' in out


def test_filters(dibs: Run) -> None:
    dibs("push", "q", "1", "--project", "p", "--label", "a", "--label", "b", "--priority", "200")
    assert dibs("claim", "q", "--project", "other").code == 3
    assert dibs("claim", "q", "--label", "a", "--label", "c").code == 3
    assert dibs("claim", "q", "--max-priority", "high").code == 3
    found = dibs("claim", "q", "--project", "p", "--label", "a", "--label", "b", "--max-priority", "critical")
    assert found.code == 0


def test_complete_keeps_the_result(dibs: Run, claim: Claim) -> None:
    dibs("push", "q", "1", "--key", "k")
    lease = claim()
    done = dibs("complete", "q", lease["id"], "--epoch", "1", "--result", '{"pages": 12}', "--json")
    assert (done.code, done.json) == (0, {"id": lease["id"], "epoch": 1, "outcome": "completed"})
    shown = dibs("show", "q", lease["id"], "--json").json
    assert (shown["task"]["state"], shown["result"]) == ("completed", {"pages": 12})


def test_steps_are_silent_in_a_script(dibs: Run, claim: Claim) -> None:
    dibs("push", "q", "1")
    lease = claim()
    renewed = dibs("renew", "q", lease["id"], "--epoch=1")
    assert (renewed.code, renewed.out, renewed.err) == (0, "", "")
    done = dibs("complete", "q", lease["id"], "--epoch", "1", "--result", "-", stdin='"from stdin"')
    assert (done.code, done.out, done.err) == (0, "", "")
    assert dibs("show", "q", lease["id"], "--json").json["result"] == "from stdin"


def test_renew_says_until_when(dibs: Run, claim: Claim) -> None:
    dibs("push", "q", "1")
    lease = claim("--ttl", "60")
    renewed = dibs("renew", "q", lease["id"], "--epoch", "1", "--json").json
    assert renewed["outcome"] == "renewed"
    assert renewed["expires_at"] > lease["expires_at"]


def test_release_gives_it_back_at_once_or_later(dibs: Run, claim: Claim) -> None:
    dibs("push", "q", "1")
    lease = claim()
    assert dibs("release", "q", lease["id"], "--epoch", "1").code == 0
    again = claim()
    assert (again["epoch"], again["attempts"]) == (2, 0)
    assert dibs("release", "q", lease["id"], "--epoch", "2", "--delay", "1h").code == 0
    assert dibs("claim", "q").code == 3
    assert dibs("show", "q", lease["id"], "--json").json["task"]["state"] == "scheduled"


def test_fail_retries_later_and_no_retry_ends_it(dibs: Run, claim: Claim) -> None:
    task = dibs("push", "q", "1", "--backoff", "1h").out.strip()
    claim()
    assert dibs("fail", "q", task, "--epoch", "1", "--error", "HTTP 503").code == 0
    shown = dibs("show", "q", task, "--json").json
    assert (shown["task"]["state"], shown["task"]["attempts"], shown["error"]) == ("scheduled", 1, "HTTP 503")
    other = dibs("push", "q", "2").out.strip()
    claim()
    assert (
        dibs("fail", "q", other, "--epoch", "1", "--error", "gone", "--no-retry", "--json").json["outcome"] == "failed"
    )
    assert dibs("show", "q", other, "--json").json["task"]["state"] == "failed"


@pytest.mark.parametrize("step", ["renew", "complete", "release", "fail"])
def test_an_earlier_epoch_is_lease_lost(dibs: Run, claim: Claim, step: str) -> None:
    dibs("push", "q", "1")
    lease = claim()
    dibs("release", "q", lease["id"], "--epoch", "1")
    assert claim()["epoch"] == 2
    late = dibs(step, "q", lease["id"], "--epoch", "1", "--json")
    assert (late.code, late.out) == (4, "")
    assert late.err.startswith("dibs: lease lost: ")
    assert dibs("complete", "q", lease["id"], "--epoch", "2").code == 0


def test_a_task_that_is_not_there(dibs: Run) -> None:
    dibs("push", "q", "1")
    assert dibs("complete", "q", "0" * 32, "--epoch", "1").code == 1


def test_a_lease_outlives_the_claiming_process(dibs: Run, claim: Claim) -> None:
    dibs("push", "q", "1")
    lease = claim()
    (held,) = dibs("claimed", "q", "--json").lines
    assert (held["id"], held["pid"]) == (lease["id"], None)
    assert dibs("claim", "q").code == 3


def test_a_lease_with_pid_ends_with_that_process(dibs: Run, claim: Claim) -> None:
    dibs("push", "q", "1")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as owner:
        lease = claim("--pid", str(owner.pid), "--ttl", "1h")
        assert dibs("claimed", "q", "--json").lines[0]["pid"] == owner.pid
        assert dibs("claim", "q").code == 3
        owner.communicate(b"\n")
    assert claim()["epoch"] == lease["epoch"] + 1


def test_what_nobody_could_read_goes_back(dibs: Run, claim: Claim, tmp_path: Path) -> None:
    dibs("push", "q", "1")
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        done = subprocess.run(
            [PROGRAM, "claim", "q"],
            cwd=tmp_path,
            stdout=write_end,
            stderr=subprocess.PIPE,
            env=environment(),
            timeout=PATIENCE,
        )
    finally:
        os.close(write_end)
    assert (done.returncode, done.stderr) == (141, b"")
    assert claim()["epoch"] == 2


def test_ttl_from_the_environment(dibs: Run) -> None:
    dibs("push", "q", "1")
    assert dibs("claim", "q", env={"DIBS_TTL": "7m"}).lines[0]["ttl"] == 420.0
