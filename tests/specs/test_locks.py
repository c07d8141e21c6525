"""The lock files of `specs:`: what they say, and when they count no longer."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from dibs.errors import LeaseLost, Refused
from dibs.host import this_host
from dibs.states import State
from dibs.testing import ManualClock
from specs.spec_folder import ELSEWHERE, Folder, all_taken, taken

HOURS = 3600.0


@pytest.fixture
def folder(quick_folder: Path) -> Folder:
    return Folder(quick_folder)


@pytest.fixture
def dead() -> int:
    """The pid of a process that is gone."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_a_lock_says_who_holds_the_spec(folder: Folder) -> None:
    folder.add("a")
    lease = taken(folder.open())
    record = folder.record("a")
    host = this_host()
    assert (record["pid"], record["process_start"]) == (os.getpid(), host.started(os.getpid()))
    assert (record["hostname"], record["epoch"]) == (host.name, 1)
    assert record["user"] and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", record["started"])
    assert f"started_by: {record['user']}@{lease.worker}\nstarted_at: {record['started']}\n" in (
        folder.path("a").read_text()
    )


def test_a_lock_is_gone_when_the_lease_ends(folder: Folder) -> None:
    queue = folder.open("?backoff=0")
    folder.add("a")
    for end in ("release", "fail", "complete"):
        lease = taken(queue)
        assert folder.left_locks() == ["a.pid"]
        lease.fail("broken") if end == "fail" else getattr(lease, end)()
        assert folder.left_locks() == [], end
    assert queue.get("a").epoch == 3


def test_a_lock_is_gone_when_the_spec_is_cancelled(folder: Folder) -> None:
    folder.add("a")
    queue = folder.open()
    lease = taken(queue)
    folder.open().cancel("a")
    assert folder.left_locks() == []
    with pytest.raises(LeaseLost):
        lease.complete()
    assert queue.get("a").state is State.CANCELLED


def test_git_does_not_see_locks_though_nobody_called_init(folder: Folder) -> None:
    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=folder.root, check=True, capture_output=True, text=True).stdout

    git("init", "-q")
    folder.add("a")
    taken(folder.open())
    assert git("status", "--porcelain", "-uall").splitlines() == ["?? .dibs/specs/a.md"]


def test_the_process_is_gone_and_its_claim_with_it(folder: Folder) -> None:
    folder.add("a")
    folder.claim_and_die()
    assert folder.record("a")["epoch"] == 1
    lease = taken(folder.open())
    assert lease.epoch == 2
    lease.complete()
    assert folder.open().detail("a").history[0].what == "died"


def test_a_pid_that_was_given_to_another_process_is_not_alive(folder: Folder) -> None:
    folder.add("a")
    lease = taken(folder.open())
    assert folder.open().claim() is None
    record = folder.record("a")
    record["process_start"] = record["lease"]["start"] = "1"
    folder.lock("a").write_text(json.dumps(record))
    assert taken(folder.open()).epoch == 2
    with pytest.raises(LeaseLost):
        lease.complete()
    assert "status: in_progress" in folder.path("a").read_text()


def test_a_claim_of_another_host_runs_out_with_its_ttl(folder: Folder) -> None:
    folder.add("a")
    away = folder.open(host=ELSEWHERE)
    lease = away.claim(ttl=60)
    assert lease is not None
    clock = ManualClock()
    here = folder.open(clock=clock)
    for _ in range(2):
        assert here.claim() is None
        clock.advance(50)
    assert here.claim() is not None, "it was seen for 100 s without a beat"


def test_a_claim_of_another_host_that_beats_does_not_run_out(folder: Folder) -> None:
    folder.add("a")
    lease = folder.open(host=ELSEWHERE).claim(ttl=60)
    assert lease is not None
    clock = ManualClock()
    here = folder.open(clock=clock)
    for _ in range(4):
        assert here.claim() is None
        clock.advance(50)
        lease.renew()
    assert here.claim() is None
    lease.complete()


FRESH = {
    "a number": "{alive}",
    "a number and a line end": "{alive}\n",
    "of this host": '{{"pid": {alive}, "hostname": "{host}"}}',
    "of this host, with its start": '{{"pid": {alive}, "hostname": "{host}", "process_start": "{start}"}}',
    "of another host": '{{"pid": {dead}, "hostname": "elsewhere"}}',
    "without a pid": '{{"hostname": "{host}"}}',
    "of a pid that is none": '{{"pid": -1, "hostname": "{host}"}}',
    "of a pid that is too large": '{{"pid": 99999999999999999999, "hostname": "{host}"}}',
    "of a pid that is true": '{{"pid": true, "hostname": "{host}"}}',
    "garbage": "@@ \0 \\",
    "a list": "[1, 2]",
    "half an object": '{{"pid": 1',
    "no end of brackets": "[" * 50_000,
    "an empty file": "",
}
GONE = {
    "a number": "{dead}",
    "of this host": '{{"pid": {dead}, "hostname": "{host}"}}',
    "of this host, reused": '{{"pid": {alive}, "hostname": "{host}", "process_start": "1"}}',
    "without a host": '{{"pid": {dead}, "started": "today"}}',
}


def filled(content: str, dead: int) -> str:
    host, alive = this_host(), os.getpid()
    return (
        content.format(alive=alive, dead=dead, host=host.name, start=host.started(alive)) if "{" in content else content
    )


@pytest.mark.parametrize("content", FRESH.values(), ids=FRESH)
def test_a_fresh_lock_of_another_tool_is_respected(folder: Folder, dead: int, content: str) -> None:
    folder.add("a")
    folder.add("b")
    text = filled(content, dead)
    folder.put_lock("a", text)
    queue = folder.open()
    assert all_taken(queue) == {"b"}
    assert folder.lock("a").read_text() == text
    assert [task.id for task in queue.tasks(State.CLAIMED)] == ["a", "b"]


@pytest.mark.parametrize("content", GONE.values(), ids=GONE)
def test_a_lock_of_another_tool_counts_while_its_process_runs(folder: Folder, dead: int, content: str) -> None:
    folder.add("a")
    folder.put_lock("a", filled(content, dead))
    assert all_taken(folder.open()) == {"a"}


@pytest.mark.parametrize("content", ["of another host", "without a pid", "garbage", "a list", "half an object"])
def test_a_lock_that_nobody_can_ask_counts_for_four_hours(folder: Folder, dead: int, content: str) -> None:
    folder.add("young")
    folder.add("old")
    text = filled(FRESH[content], dead)
    folder.put_lock("young", text, age=4 * HOURS - 60)
    folder.put_lock("old", text, age=4 * HOURS + 60)
    assert all_taken(folder.open()) == {"old"}


def test_how_long_they_count_is_a_setting(folder: Folder) -> None:
    folder.add("young")
    folder.add("old")
    folder.put_lock("young", "?", age=60)
    folder.put_lock("old", "?", age=600)
    assert all_taken(folder.open("?stale=300")) == {"old"}


def test_their_age_is_by_the_file_servers_clock(folder: Folder) -> None:
    folder.add("a")
    folder.put_lock("a", "?")
    clock = ManualClock(wall=4_000_000_000.0)
    assert folder.open(clock=clock).claim() is None
    folder.put_lock("a", "?", age=-10 * HOURS)
    assert folder.open().claim() is None, "it is from the future"


def test_of_a_process_that_runs_here_it_counts_however_old_it_is(folder: Folder) -> None:
    folder.add("a")
    folder.put_lock("a", filled(FRESH["of this host"], 0), age=100 * HOURS)
    assert folder.open().claim() is None


def test_this_host_is_known_by_the_name_that_the_system_gives(
    folder: Folder, dead: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = list(os.uname())
    names[1] = "Anns_Laptop.with-a-very-long-name.local"
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(names))
    this_host.cache_clear()
    try:
        folder.add("here")
        folder.add("there")
        folder.put_lock("here", json.dumps({"pid": dead, "hostname": names[1]}))
        folder.put_lock("there", json.dumps({"pid": dead, "hostname": names[1] + "2"}))
        assert all_taken(folder.open()) == {"here"}
    finally:
        this_host.cache_clear()


def test_a_lock_of_another_tool_is_said_and_not_steered_around(folder: Folder) -> None:
    folder.add("a")
    queue = folder.open()
    folder.put_lock("a", "?")
    assert queue.get("a").state is State.CLAIMED
    assert "another tool" in queue.why("a").text and str(folder.lock("a")) in queue.why("a").text
    for step in (queue.cancel, queue.free, lambda name: queue.claim_one(name, 60)):
        with pytest.raises(Refused, match="another tool"):
            step("a")
    assert folder.path("a").read_text() == "---\nstatus: pending\n---\n# Title\n"
    assert folder.lock("a").read_text() == "?"


def test_what_is_locked_no_longer_can_be_steered_at_once(folder: Folder, dead: int) -> None:
    folder.add("a")
    folder.put_lock("a", str(dead))
    assert folder.open().cancel("a").state is State.CANCELLED
    assert folder.left_locks() == []


def test_what_has_ended_stays_so_whatever_lock_there_is(folder: Folder) -> None:
    folder.add("a", "---\nstatus: completed\n---\n")
    folder.add("b", "---\ndepends_on: a\n---\n")
    folder.put_lock("a", "?")
    queue = folder.open()
    assert queue.get("a").state is State.COMPLETED
    assert all_taken(queue) == {"b"}


def test_what_is_no_lock_is_left_alone(folder: Folder) -> None:
    folder.add("a")
    folder.add("b")
    folder.locks.mkdir()
    (folder.locks / "notes.txt").write_text("mine")
    (folder.locks / "a.pid").mkdir()
    folder.put_lock("gone", "?")
    assert all_taken(folder.open()) == {"b"}
    assert (folder.locks / "notes.txt").read_text() == "mine"
    assert (folder.locks / "a.pid").is_dir()


def test_a_claim_that_dies_before_it_is_one_is_not_waited_for(folder: Folder) -> None:
    """One-shot commands claim for four hours, and for no process: what they leave half-made must not last so long."""
    folder.add("a")
    clock = ManualClock()
    queue = folder.open(pid=None, clock=clock)
    lease = queue.claim(ttl=4 * HOURS)
    assert lease is not None
    unborn = queue._steps._unborn("a", queue._holder(4 * HOURS))  # type: ignore[attr-defined]
    folder.lock("a").write_bytes(queue._leases.to_bytes(unborn))
    folder.add("a")
    assert queue.claim() is None
    clock.advance(100)
    again = queue.claim()
    assert again is not None
