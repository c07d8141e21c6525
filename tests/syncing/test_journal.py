"""What a site has written down of its reservations, when the disk does not go along."""

import os
from pathlib import Path

import pytest

from dibs.errors import StorageError
from dibs.syncing import journal as module
from dibs.syncing.journal import GONE, HERE, RESERVED, TOLD, Entry, Journal


def reopened(folder: Path) -> dict[str, Entry]:
    journal = Journal(str(folder), "s3://bucket/q")
    journal.close()
    return journal.entries


def test_the_latest_word_on_a_task_counts(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path), "s3://bucket/q")
    journal.note([Entry("a", 1, RESERVED), Entry("b", 2, RESERVED), Entry("c", 1, RESERVED)], reserving=True)
    journal.note([Entry("a", 1, HERE), Entry("b", 2, GONE), Entry("c", 1, TOLD)], reserving=False)
    journal.close()
    assert reopened(tmp_path) == {"a": Entry("a", 1, HERE)}


def test_a_write_that_broke_off_spoils_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(str(tmp_path), "s3://bucket/q")
    journal.note([Entry("a", 1, HERE)])
    real = os.write
    monkeypatch.setattr(module.os, "write", lambda file, data: real(file, data[: len(data) // 2]))
    with pytest.raises(StorageError, match="No space left"):
        journal.note([Entry("b", 1, HERE)])
    monkeypatch.undo()
    assert set(journal.entries) == {"a"}
    journal.note([Entry("c", 1, HERE)])
    journal.close()
    assert set(reopened(tmp_path)) == {"a", "c"}
