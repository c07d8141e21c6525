"""`specs:…?git=push`: what the branch of the remote takes, found out without a change of it."""

from pathlib import Path

import pytest

import dibs
from dibs.doctor import Verdict, examine
from dibs.doctor.finding import Level
from dibs.errors import BadInput, StorageError
from doctor.broken import doctor, name_of_one_gone, words
from git.clones import Team, git, state

PROTECTED = {  # as forges do it (pre-receive), as a plain git is told to, and by a setting of git itself
    "pre-receive": 'while read old new ref; do test "$ref" != refs/heads/main || exit 1; done',
    "update": 'test "$1" != refs/heads/main',
}


def place(team: Team, mode: str = "push") -> str:
    return f"specs:{team.folder}/first/.dibs/specs?git={mode}"


def test_a_branch_that_takes_commits_is_safe_for_many_hosts_and_left_as_it_was(team: Team) -> None:
    team.start()
    git(team.remote, "update-ref", f"refs/heads/dibs-doctor-{name_of_one_gone()}-1", "main")
    refs, before = {"refs/heads/main": team.refs()["refs/heads/main"]}, state(team.folder / "first")
    code, report = doctor(place(team), "--quick", "--no-note")
    assert (code, report["verdict"]) == (0, "safe for many hosts"), report["findings"]
    assert "would take commits" in words(report, "branch of the queue")
    assert "one winner each time" in words(report, "branches of the remote")
    assert words(report, "stale tip") == "refused"
    assert (team.refs(), state(team.folder / "first")) == (refs, before)


@pytest.mark.parametrize("name", PROTECTED)
def test_a_protected_branch_is_not_safe_and_named(team: Team, name: str) -> None:
    team.start()
    team.hook(name, PROTECTED[name])
    before = team.refs()
    with pytest.raises(StorageError), dibs.open(place(team)) as queue:
        queue.claim()
    code, report = doctor(place(team), "--quick")
    assert (code, report["verdict"]) == (1, "not safe"), report["findings"]
    assert report["reason"].startswith("branch of the queue: 'main' takes no commits from here")
    assert "declined" in report["reason"] and "?git=refs" in report["remedy"]
    assert report["seconds"] <= 30
    assert team.refs() == before
    assert doctor(place(team, "refs"), "--quick")[0] == 0


def test_where_no_other_branch_may_be_made_it_is_not_called_safe_for_many(team: Team) -> None:
    team.start()
    team.hook("update", 'test "$1" = refs/heads/main')
    report = examine(place(team), quick=True)
    found = {one.check: one for one in report.findings}
    assert report.verdict is Verdict.ONE
    assert found["branches of the remote"].level is Level.ONE_HOST
    assert "could not be tried" in found["branches of the remote"].happened


def test_another_way_than_those_there_are_is_refused(team: Team, tmp_path: Path) -> None:
    team.start()
    with pytest.raises(BadInput, match=r"git=nonsense in .* is not known; use one of push, refs"):
        examine(place(team, "nonsense"))
