"""Folders whose times are settled."""

import os
import time
from pathlib import Path

import pytest

from dibs.serve.cache.folders import settled
from waiting import until


def settle(root: str) -> None:
    """Until the cache trusts the times of every folder."""
    folders = [folder for folder, _, _ in os.walk(root)]
    until(lambda: all(settled(os.stat(folder), time.time()) for folder in folders if os.path.isdir(folder)), "quiet")


@pytest.fixture
def specs(quick_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of specs."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(quick_folder / "xdg"))
    folder = quick_folder / ".dibs" / "specs"
    folder.mkdir(parents=True)
    return folder
