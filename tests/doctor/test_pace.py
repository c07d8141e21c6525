"""The pace that the doctor tells is that of the backend it was asked about; how many workers that feeds, it says of
places that are safe."""

from pathlib import Path
from unittest.mock import Mock

import pytest

from dibs.doctor import Finding, Level, Verdict, examine
from dibs.doctor.crew import NoAnswer
from dibs.doctor.folders import battery, pace
from dibs.errors import StorageError
from doctor.broken import doctor, words
from git.clones import Team


@pytest.mark.parametrize("scheme", ["dir", "specs", "lmdb"])
def test_it_is_measured_with_a_queue_of_that_kind(scheme: str, tmp_path: Path) -> None:
    (tmp_path / "q").mkdir()
    code, report = doctor(f"{scheme}:{tmp_path}/q", "--quick", "--no-note")
    assert code == 0, report["findings"]
    assert words(report, "pace").endswith(f" tasks/s pushed, claimed and completed by {scheme}:")
    assert report["figures"]["tasks_per_second"] > 0 and "feeds" in report["advice"][0]
    assert list((tmp_path / "q").iterdir()) == []


def test_a_queue_that_fails_meanwhile_is_worth_a_warning_and_one_that_hangs_a_verdict() -> None:
    crew = Mock(size=6, all=Mock(side_effect=StorageError("a file is open; try again")))
    (found,) = pace.by_queue("specs")(Mock(quick=True, crew=crew, figures={}))
    assert (found.level, found.happened, found.remedy) == (Level.WARNING, "not measured: a file is open", "try again")
    crew.all.side_effect = NoAnswer("no answer")
    with pytest.raises(NoAnswer):
        list(pace.by_queue("specs")(Mock(quick=True, crew=crew, figures={})))


def test_of_file_it_is_that_of_its_files(tmp_path: Path) -> None:
    report = examine(str(tmp_path), quick=True)
    (found,) = (one for one in report.findings if one.check == "pace")
    assert found.happened.startswith("files of ") and "feeds" in report.advice[0]


def test_through_git_it_is_that_of_the_remote(team: Team) -> None:
    team.start()
    code, report = doctor(f"specs:{team.folder}/first/.dibs/specs?git=refs", "--quick")
    assert code == 0, report["findings"]
    assert "tasks_per_second" not in report["figures"] and not any("feeds" in line for line in report["advice"])
    assert " ms for a push to the remote: a claim takes one" in words(report, "pace")
    assert report["figures"]["push_seconds"] > 0


def test_of_what_is_not_safe_nobody_is_told_how_many_it_feeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = Finding(check="names", tried="t", happened="h", level=Level.BAD)
    monkeypatch.setattr(battery.names, "check", lambda _: iter([bad]))
    report = examine(str(tmp_path), quick=True)
    assert report.verdict is Verdict.UNSAFE and report.figures["tasks_per_second"] > 0
    assert report.advice == []
