"""A remote with three specs, and clones of it as if on machines of their own."""

from pathlib import Path

import pytest

from team.place import Place


@pytest.fixture
def place(quick_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    settings = quick_folder / "gitconfig"
    settings.write_text("[init]\n\tdefaultBranch = main\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("LC_ALL", "C")
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_SSH_COMMAND", "EMAIL"):
        monkeypatch.delenv(name, raising=False)
    return Place(quick_folder)
