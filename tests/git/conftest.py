"""git as a stranger has it: no settings of the user or the machine that runs the tests."""

from pathlib import Path

import pytest

from git.clones import Team


@pytest.fixture(autouse=True)
def plain_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own settings file, empty."""
    settings = tmp_path / "gitconfig"
    settings.write_text("[init]\n\tdefaultBranch = main\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("LC_ALL", "C")
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_SSH_COMMAND", "EMAIL"):
        monkeypatch.delenv(name, raising=False)
    return settings


@pytest.fixture
def team(tmp_path: Path) -> Team:
    """A bare remote, empty."""
    return Team(tmp_path)


@pytest.fixture
def started(team: Team) -> Team:
    """A remote with a branch main: a few files, some of them specs."""
    team.start()
    return team
