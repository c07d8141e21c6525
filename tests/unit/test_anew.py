"""Whether a file is there, asked so that a share's client must ask its server."""

import os
from pathlib import Path

import pytest

from dibs.stores.anew import stat_anew


def test_a_file_is_seen_and_a_missing_one_is_none(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").write_bytes(b"123")
    found = stat_anew(f"{tmp_path}/a/b/file", str(tmp_path))
    assert found is not None and found.st_size == 3
    for missing in ("a/b/other", "a/x/file", "x", "a/b/file/under"):
        assert stat_anew(f"{tmp_path}/{missing}", str(tmp_path)) is None
    assert stat_anew(f"{tmp_path}/gone/file", f"{tmp_path}/gone") is None


def test_every_folder_on_the_way_is_asked_before_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    asked: list[str] = []
    opened, looked = os.open, os.lstat
    monkeypatch.setattr(os, "open", lambda path, *rest: asked.append(f"open {path}") or opened(path, *rest))
    monkeypatch.setattr(os, "lstat", lambda path: asked.append(f"lstat {path}") or looked(path))
    assert stat_anew(f"{tmp_path}/a/file", str(tmp_path)) is None
    assert asked == [f"open {tmp_path}", f"open {tmp_path}/a", f"lstat {tmp_path}/a/file"]
