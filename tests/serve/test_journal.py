"""The journal of who holds what through a daemon: what a crash leaves, and what nobody may take from it."""

import os
from pathlib import Path

import pytest

from dibs.queues.behalf import SUFFIX, read
from dibs.serve import journal as module
from dibs.serve.journal import Journal, tidy

ONE, TWO = ("0" * 32, 1), ("f" * 32, 7)


def crash(journal: Journal) -> None:
    """Nothing more is written, and the lock is gone."""
    os.close(journal._file)
    journal._file = -1


def test_what_was_claimed_and_not_ended_is_known_after_a_crash(tmp_path: Path) -> None:
    first = Journal(str(tmp_path), "d", "mars:1")
    first.connected("a")
    first.tied([ONE, TWO], "a")
    first.tied([("x", 1)], "b")
    first.untied([ONE])
    first.untied([("x", 1)])
    first.tied([("y", 2)], "never seen")
    crash(first)
    again = Journal(str(tmp_path), "d", "mars:2")
    assert again.before.sessions == {TWO: "a", ("y", 2): "never seen"}
    assert again.before.seen == {"a"}
    assert again.before.via == "mars:1"
    crash(again)  # at once: what it had found is not lost
    assert Journal(str(tmp_path), "d", "mars:3").before.sessions == {TWO: "a", ("y", 2): "never seen"}


@pytest.mark.parametrize("session", ['"]\n["+","x",1,"evil"]\n', "a b\tc", "ü" * 200, "", "\x00"])
def test_a_session_may_be_called_anything(tmp_path: Path, session: str) -> None:
    first = Journal(str(tmp_path), "d", "mars:1")
    first.connected(session)
    first.tied([ONE], session)
    crash(first)
    said = Journal(str(tmp_path), "d", "mars:1").before
    assert (said.sessions, said.seen) == ({ONE: session}, {session})


def test_every_end_of_a_file_that_broke_off_can_be_read(tmp_path: Path) -> None:
    first = Journal(str(tmp_path), "d", "mars:1")
    first.connected("a")
    for number in range(5):
        first.tied([(f"t{number}", 1)], "a")
    whole = (tmp_path / f"d{SUFFIX}").read_bytes()
    for size in range(len(whole)):
        sessions = read(whole[:size]).sessions
        assert list(sessions) == [(f"t{number}", 1) for number in range(len(sessions))]
        assert read(whole[:size] + b"\n\xff\x00[[").sessions == sessions


def test_a_daemon_that_lives_is_left_alone(tmp_path: Path) -> None:
    first = Journal(str(tmp_path), "d", "mars:1")
    first.connected("a")
    first.tied([ONE], "a")
    second = Journal(str(tmp_path), "d", "mars:1")
    assert second.before.sessions == {}
    assert second.elsewhere("a")
    assert not first.elsewhere("a")
    first.hung_up("a")
    assert not second.elsewhere("a")
    first.connected("a")
    crash(first)
    assert not second.elsewhere("a")
    second.close()
    assert Journal(str(tmp_path), "d", "mars:1").before.sessions == {ONE: "a"}


def test_it_stays_small(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path), "d", "mars:1")
    journal.connected("a")
    journal.tied([ONE], "a")
    for number in range(20_000):
        journal.tied([(f"t{number}", 1)], "a")
        journal.untied([(f"t{number}", 1)])
    assert (tmp_path / f"d{SUFFIX}").stat().st_size < 2 * module.LARGE_BYTES
    crash(journal)
    left = Journal(str(tmp_path), "d", "mars:1").before
    assert left.sessions.pop(ONE) == "a"
    assert set(left.sessions) <= {("t19999", 1)}
    assert left.seen == {"a"}


def test_with_nothing_held_nothing_is_left(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path), "d", "mars:1")
    journal.tied([ONE], "a")
    journal.untied([ONE])
    journal.close()
    journal.close()
    journal.tied([ONE], "a")
    assert os.listdir(tmp_path) == []


def test_a_disk_that_is_full_ends_the_journal_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    journal = Journal(str(tmp_path), "d", "mars:1", said.append)

    def full(file: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.os, "write", full)
    for _ in range(3):
        journal.tied([ONE], "a")
        journal.connected("a")
    assert len(said) == 1
    assert "No space left" in said[0]
    journal.close()


def test_what_was_left_long_ago_is_removed_unless_it_is_in_use(tmp_path: Path) -> None:
    used = Journal(str(tmp_path), "used", "mars:1")
    left = Journal(str(tmp_path), "left", "mars:1")
    crash(left)
    (tmp_path / "worker.json").write_text("{}")
    now = (tmp_path / f"left{SUFFIX}").stat().st_mtime
    tidy(str(tmp_path), now + module.OLD_SECONDS - 60)
    assert len(os.listdir(tmp_path)) == 3
    tidy(str(tmp_path), now + module.OLD_SECONDS + 60)
    assert sorted(os.listdir(tmp_path)) == [f"used{SUFFIX}", "worker.json"]
    used.close()
