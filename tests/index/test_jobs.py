"""Compacting in several processes: what comes out is what one would have made, also when they are killed or stopped."""

import signal
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from children import TESTS, command, environment
from dibs.clock import SYSTEM, SystemClock
from dibs.host import process_state
from dibs.index import crew, hand, passes
from dibs.index.compactor import MERGED, UNSURE
from dibs.index.crew import Crew
from dibs.index.index import Index
from waiting import PATIENCE, until

KEYS = 300
OWN = 2  # shards that this process takes in a pass; what is left is for the others, if there are any


@pytest.fixture
def filled(folder: str) -> Iterator[Index]:
    """Records in the shards, and updates of some of them in the inbox."""
    with Index(f"{folder}?sync=off", shards=16, fields=["title"]) as index:
        index.put_many({"key": f"k{number}", "updated_at": 1, "title": "old"} for number in range(KEYS))
        index.compact()
        index.put_many({"key": f"k{number}", "updated_at": 2, "title": "new"} for number in range(0, KEYS, 2))
        index.delete("k1", updated_at=3)
        yield index


@pytest.fixture
def crowd(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Others help at once, and have to; how many were asked for each time."""
    asked: list[int] = []
    start = Crew.start

    def noted(self: Crew, count: int) -> None:
        asked.append(count)
        start(self, count)

    monkeypatch.setattr(passes, "TRIED", 1)
    monkeypatch.setattr(passes, "WORTH_SECONDS", -1.0)
    monkeypatch.setattr(Crew, "start", noted)
    monkeypatch.setattr(Crew, "names", few)
    return asked


def few(self: Crew) -> Iterator[str]:
    """No more names for this process once there are others."""
    names = hand.names(self._list.fileno(), self._width)
    given = 0
    while (given < OWN or not self._processes) and (name := next(names, "")):
        given += 1
        yield name


def crooked(monkeypatch: pytest.MonkeyPatch, fate: str) -> None:
    monkeypatch.setattr(crew, "HAND", "index.crooked_hand")
    monkeypatch.setenv("PYTHONPATH", TESTS)
    monkeypatch.setenv("DIBS_TEST_FATE", fate)


def check(index: Index) -> None:
    """Everything is merged and nothing is lost. One that is killed may leave its lock, and old counts in it."""
    found = {str(record["key"]): record["title"] for record in index.scan()}
    wanted = {f"k{number}": "old" if number % 2 else "new" for number in range(KEYS)}
    del wanted["k1"]
    assert found == wanted
    assert index.waiting() == []
    assert {finding.kind for finding in index.verify()} <= {"lock", "manifest"}


def test_several_processes_do_what_one_would(filled: Index, crowd: list[int]) -> None:
    waiting = len(filled.waiting())
    assert waiting > OWN * 2
    done = filled.compact(jobs=3)
    check(filled)
    assert crowd[0] == 2 and UNSURE not in {one.outcome for one in done}
    assert sum(one.records for one in done) == KEYS / 2 + 1
    assert sum(one.outcome == MERGED for one in done) == waiting
    assert filled.verify() == []


@pytest.mark.parametrize("fate", ["merged", "written", "deleted"])
def test_whoever_is_killed_leaves_nothing_undone(
    filled: Index, crowd: list[int], monkeypatch: pytest.MonkeyPatch, fate: str
) -> None:
    crooked(monkeypatch, fate)
    done = filled.compact(jobs=3)
    assert UNSURE in {one.outcome for one in done}  # those that had a shard in hand
    check(filled)
    assert len(crowd) > 1
    filled.repair()
    assert filled.verify() == []


def test_a_process_that_deletes_too_early_is_noticed(
    filled: Index, crowd: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    crooked(monkeypatch, "careless")
    filled.compact(jobs=3)
    with pytest.raises(AssertionError):
        check(filled)


def test_a_pass_that_forgets_the_dead_is_noticed(
    filled: Index, crowd: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    crooked(monkeypatch, "merged")
    list(filled._passes._pass(filled.waiting(), 3))  # one pass, and no look at what is left
    with pytest.raises(AssertionError):
        check(filled)


def test_an_error_is_met_by_whoever_asked(filled: Index, crowd: list[int], folder: str) -> None:
    Path(folder, "schema.json").write_text("{}")
    with pytest.raises(Exception, match=r"schema\.json is damaged"):
        Index(folder, create=False).compact(jobs=3)


def test_ctrl_c_ends_all_and_gives_back_the_locks(filled: Index, folder: str, tmp_path: Path) -> None:
    stuck = tmp_path / "stuck"
    stuck.mkdir()
    env = {**environment(), "DIBS_TEST_FATE": "stuck", "DIBS_TEST_STUCK": str(stuck)}
    process = subprocess.Popen(command("index.interrupted", folder), env=env, stderr=subprocess.PIPE)
    try:
        until(lambda: process.poll() is not None or len(list(stuck.iterdir())) == 2, "two to be stuck")
        pids = list(stuck.iterdir())
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=PATIENCE)[1]
    finally:
        process.kill()
    assert (process.returncode, said) == (130, b"")
    assert {process_state(int(pid.name))[0] for pid in pids} == {"-"}
    assert filled.verify() == []  # no lock of a dead process among them
    filled.compact()
    check(filled)


class Standing(SystemClock):
    """No time passes."""

    boottime = staticmethod(partial(float, SYSTEM.boottime()))


def test_little_work_is_done_alone(filled: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Crew, "start", lambda *_: pytest.fail("it was not worth it"))
    monkeypatch.setattr(filled.site, "clock", Standing())
    filled.compact(jobs=4)
    check(filled)


def test_what_is_in_memory_is_compacted_here(crowd: list[int]) -> None:
    index = Index("memory:", fields=["title"])
    index.put_many({"key": f"k{number}", "title": ""} for number in range(100))
    assert sum(done.records for done in index.compact(jobs=4)) == 100
    assert crowd == []


def test_the_folder_may_be_another_one_by_then(
    filled: Index, crowd: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    where = Path(filled.site.url.partition("?")[0])
    monkeypatch.chdir(where.parent)
    index = Index(where.name + "?sync=off", create=False)
    monkeypatch.chdir("/")
    done = index.compact(jobs=2)
    assert crowd and UNSURE not in {one.outcome for one in done}
    check(filled)


def test_the_url_is_on_no_command_line(filled: Index, crowd: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []
    popen = subprocess.Popen

    def noted(words: list[str], **options: object) -> "subprocess.Popen[bytes]":
        commands.append(words)
        return popen(words, **options)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(subprocess, "Popen", noted)
    filled.compact(jobs=2)
    assert {tuple(words[1:]) for words in commands} == {("-m", "dibs.index.hand")}
