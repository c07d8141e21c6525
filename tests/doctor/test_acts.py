"""What the contending processes answer where a mount shows what is gone."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from dibs.clock import SYSTEM
from dibs.doctor.folders.acts import Acts
from dibs.queues.files.fs import LocalFs


def test_a_task_that_is_shown_and_cannot_be_moved_is_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "marked").mkdir()
    (tmp_path / "markers" / "00").mkdir(parents=True)
    source = tmp_path / "marked" / f"{0:032x}"
    source.write_bytes(b"0 first\n")

    def rename(_: LocalFs, old: str, new: str, **more: Any) -> None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), old)

    monkeypatch.setattr(LocalFs, "rename", rename)
    assert Acts(str(tmp_path)).marked(0, 1, SYSTEM.boottime(), 0.01) == ["ESTALE"]
    assert source.exists()
