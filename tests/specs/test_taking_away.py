"""Claims that are taken away: the next one has a later epoch, and who had it is refused."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.errors import LeaseLost
from dibs.queues.specs import SpecsQueue


@pytest.fixture(params=["", "refs", "push"], ids=["locks", "refs", "push"])
def clones(request: pytest.FixtureRequest, quick_folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Two URLs of one queue with a spec `a`: of two clones, or of one folder."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    first, second, remote = (quick_folder / name for name in ("one", "two", "remote.git"))
    specs = first / ".dibs" / "specs"
    specs.mkdir(parents=True)
    (specs / "a.md").write_text("---\nstatus: pending\n---\n# A\n")
    if not request.param:
        return f"specs:{specs}", f"specs:{specs}"
    name = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (
        ["init", "-q", "--bare", "-b", "main", str(remote)],
        ["init", "-q", "-b", "main", str(first)],
        ["-C", str(first), "remote", "add", "origin", str(remote)],
        ["-C", str(first), "add", "."],
        [*name, "-C", str(first), "commit", "-qm", "specs"],
        ["-C", str(first), "push", "-q", "-u", "origin", "main"],
        ["clone", "-q", str(remote), str(second)],
    ):
        subprocess.run(["git", *command], check=True, capture_output=True)
    return tuple(f"specs:{clone}/.dibs/specs?git={request.param}" for clone in (first, second))  # type: ignore[return-value]


def opened(url: str, **options: Any) -> SpecsQueue:
    queue = dibs.open(url, **options)
    assert isinstance(queue, SpecsQueue)
    return queue


def test_what_is_taken_away_is_lost_and_comes_at_a_later_epoch(clones: tuple[str, str]) -> None:
    one, two = (opened(url, pid=None) for url in clones)
    mine = one.claim_one("a", 600)
    assert mine.epoch == 1
    two.free("a")
    with pytest.raises(LeaseLost):
        mine.complete()
    theirs = two.claim_one("a", 600)
    assert theirs.epoch > 1
    with pytest.raises(LeaseLost):
        one.lease("a", 1)
    theirs.complete("done")
    assert two.get("a").state == "completed"


def test_who_lost_it_may_claim_it_again(clones: tuple[str, str]) -> None:
    """Also if the lock of the lost claim is still there."""
    one, two = (opened(url, pid=None) for url in clones)
    one.claim_one("a", 600)
    two.free("a")
    assert one.get("a").state == "ready"
    assert one.own_epoch("a") is None
    assert one.claim_one("a", 600).epoch > 1


def test_a_clone_that_is_claimed_in_two_ways_is_warned(clones: tuple[str, str]) -> None:
    url = clones[0]
    opened(url)
    plain = opened(url.partition("?")[0])
    assert plain.other_way == (url.partition("git=")[2] or None)
    assert opened(url).other_way is None


def test_a_conflict_in_the_text_is_found_by_lint(tmp_path: Path) -> None:
    from dibs.specs.catalog import Catalog
    from dibs.specs.lint import lint

    text = "---\nstatus: pending\n---\n# A\n\n<<<<<<< ours\none\n=======\ntwo\n>>>>>>> theirs\n"
    (tmp_path / "a.md").write_text(text)
    (problem,) = lint(Catalog(str(tmp_path)).specs())
    assert (problem.line, "conflict" in problem.reason) == (6, True)


def test_retry_and_cancel_from_a_shell(tmp_path: Path) -> None:
    specs = tmp_path / ".dibs" / "specs"
    specs.mkdir(parents=True)
    page = specs / "fix-it.md"
    page.write_text("---\nstatus: pending\n---\n# Fix it\n")

    def run(*words: str) -> dict[str, Any]:
        command = [sys.executable, "-m", "dibs", "specs", *words, "--json"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
        assert isinstance(found, dict)
        return found

    assert run("fail", "fix", "--no-retry", "--error", "no")["outcome"] == "failed"
    assert run("retry", "fix")["outcome"] == "put back"
    assert page.read_text() == "---\nstatus: pending\n---\n# Fix it\n"
    assert run("cancel", "fix")["outcome"] == "cancelled"
    assert "status: cancelled" in page.read_text()
