"""Waiting for what comes by itself, and folders whose times are settled."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dibs.serve.cache.folders import settled

PATIENCE_SECONDS = 60.0
_pause = threading.Event().wait


def until(true: Callable[[], Any], what: str) -> Any:
    end = time.monotonic() + PATIENCE_SECONDS
    while not (value := true()):
        assert time.monotonic() < end, f"waited {PATIENCE_SECONDS:g} s for {what}"
        _pause(0.005)
    return value


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
