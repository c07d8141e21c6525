"""What is seen of compacting while it goes on, and how it ends."""

import io
import shutil
import signal
import subprocess
import sys
from itertools import count
from pathlib import Path
from select import select

import pytest

from children import command, environment
from dibs.cli.index import progress
from dibs.cli.index.progress import Progress
from dibs.clock import SystemClock
from dibs.errors import StorageError
from dibs.index.compactor import MERGED, Done
from dibs.index.index import Index
from waiting import PATIENCE, until


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Hand(SystemClock):
    """A clock that is set by hand."""

    now = 0.0

    def boottime(self) -> float:
        return self.now


def merged(records: int) -> Done:
    return Done("00", MERGED, files=1, records=records)


def test_at_a_terminal_a_line_says_how_far_it_is() -> None:
    out = Terminal()
    shown = Progress(quiet=False, out=out)
    shown.begun(3)
    shown.did(merged(1000))
    shown.did(Done("01", "nothing"))
    shown.ended()
    assert out.getvalue().split("\r")[1:] == [
        "1 of 3 shards: 1,000 records of 1 files merged into 1 shards",
        "2 of 3 shards: 1,000 records of 1 files merged into 1 shards\n",
    ]


def test_in_a_log_a_line_now_and_then() -> None:
    out, clock = io.StringIO(), Hand()
    shown = Progress(quiet=False, out=out, clock=clock)
    shown.did(merged(1))
    assert out.getvalue() == ""
    clock.now = progress.LOG_SECONDS
    shown.did(merged(1))
    shown.did(merged(1))
    assert [line.partition("  ")[2] for line in out.getvalue().splitlines()] == [
        "2 records of 2 files merged into 2 shards"
    ]
    shown.pause()
    shown.pause()
    assert len(out.getvalue().splitlines()) == 2 and "3 records" in out.getvalue()
    quiet = Progress(quiet=True, out=out)
    quiet.did(merged(5))
    quiet.pause()
    assert quiet.records == 5 and "5 records" not in out.getvalue()


def test_a_pass_tells_how_many_shards_it_has(here: Index) -> None:
    here.put_many({"key": f"k{number}", "title": "", "status": ""} for number in range(50))
    passes: list[int] = []
    waiting = len(here.waiting())
    list(here.compact_all(begun=passes.append))
    assert passes[0] == waiting


def started(*words: str, **options: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        list(words), env={**environment(), **options}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_a_watch_in_a_log_says_what_it_did_and_ends_by_a_signal(here: Index, folder: str) -> None:
    here.put("k", {"title": "", "status": ""})
    process = started(sys.executable, "-m", "dibs", "index", "compact", folder, "--watch", "--idle", "0.1s")
    try:
        assert process.stderr is not None and select([process.stderr], [], [], PATIENCE)[0]
        assert "1 records of 1 files merged into 1 shards" in process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert (process.returncode, out, err) == (0, "1 records of 1 files merged into 1 shards\n", "")


def test_whoever_is_told_to_end_gives_back_its_lock(here: Index, folder: str, tmp_path: Path) -> None:
    here.put("k", {"title": "", "status": ""})
    stuck = tmp_path / "stuck"
    stuck.mkdir()
    process = started(*command("index.watched", folder), DIBS_TEST_STUCK=str(stuck))
    try:
        until(lambda: process.poll() is not None or list(stuck.iterdir()), "it to be in the middle of it")
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=PATIENCE)[1]
    finally:
        process.kill()
    assert (process.returncode, said) == (0, "")
    assert here.verify() == [] and all(one.held_by is None for one in here.stats().each)


def test_a_watch_over_a_folder_that_is_removed_says_so(here: Index, folder: str) -> None:
    troubles: list[StorageError] = []
    looks = count()
    watch = here.compact_watch(0.01, lambda: bool(troubles) or next(looks) > 50, troubles.append)
    here.site.root  # noqa: B018
    shutil.rmtree(folder)
    assert list(watch) == []
    assert "is gone" in str(troubles[0]) and folder in str(troubles[0])
    with pytest.raises(StorageError, match="is gone"):
        list(here.compact_watch(0.01, lambda: next(looks) > 100))
