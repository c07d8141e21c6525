"""What only `dir:` does: a folder that stays as it is, witnesses, leases beside it."""

import base64
import fcntl
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.clock import SYSTEM
from dibs.errors import BadInput, FormatError, LeaseLost, Refused, StorageError, TaskNotFound, Unsupported
from dibs.host import Host
from dibs.queues.directory import DirectoryQueue
from dibs.states import State
from dibs.task import Task

OLD = 1_600_000_000


class Folder:
    """A folder of files, its queue, and what is beside it."""

    def __init__(self, root: Path) -> None:
        self.root = root / "in"
        self.done = root / "in.done"
        self.leases = root / "in.leases"
        self.root.mkdir()

    def add(self, name: str, content: str = "x", mtime: float = OLD) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        os.utime(path, (mtime, mtime))
        return path

    def open(self, query: str = "", **options: Any) -> DirectoryQueue:
        queue = dibs.open(f"dir:{self.root}{query}", **options)
        assert isinstance(queue, DirectoryQueue)
        return queue

    def witness(self, name: str, content: str = "") -> Path:
        path = self.done / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        return path

    def snapshot(self) -> dict[str, tuple[int, int, int, bytes]]:
        files = [path for path in self.root.rglob("*") if path.is_file()]
        return {
            str(path): (path.stat().st_ino, path.stat().st_mtime_ns, path.stat().st_ctime_ns, path.read_bytes())
            for path in files
        }


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def drain(queue: DirectoryQueue) -> dict[str, int]:
    """Complete all that is ready; ids and epochs."""
    found = {}
    for lease in queue.claims():
        found[lease.id] = lease.epoch
        lease.complete()
    return found


def test_the_folder_is_never_touched(folder: Folder) -> None:
    for name in ("a.txt", "b/c.txt", "b/d/e", "f"):
        folder.add(name, name)
    before = folder.snapshot()
    queue = folder.open("?backoff=0&max_attempts=2")
    assert sorted(task.id for task in queue.tasks()) == ["a.txt", "b/c.txt", "b/d/e", "f"]
    first = queue.claim()
    assert first is not None
    first.release()
    failing = queue.claim()
    assert failing is not None
    failing.fail("no")
    assert set(drain(queue)) == {"a.txt", "b/c.txt", "b/d/e", "f"}
    queue.purge(older_than=0)
    assert folder.snapshot() == before
    assert {str(path.relative_to(folder.done)) for path in folder.done.rglob("*") if path.is_file()} == {
        "a.txt", "b/c.txt", "b/d/e", "f",
    }  # fmt: skip


def test_the_payload_says_where_the_file_is(folder: Folder) -> None:
    path = folder.add("b/c.txt", "12345")
    lease = folder.open().claim()
    assert lease is not None
    assert lease.id == "b/c.txt"
    assert lease.payload == {"path": str(path), "name": "b/c.txt", "size": 5}


def test_a_witness_tells_who_did_it(folder: Folder) -> None:
    folder.add("a")
    lease = folder.open().claim()
    assert lease is not None
    lease.complete({"lines": 3})
    record = json.loads((folder.done / "a").read_text())
    assert record["task"] == "a" and record["worker"] == lease.worker and record["epoch"] == 1
    assert record["result"] == {"lines": 3} and record["claimed_at"] <= record["completed_at"]


@pytest.mark.parametrize("content", ["", "anything", '{"half'])
def test_a_witness_that_was_there_before_counts(folder: Folder, content: str) -> None:
    folder.add("a")
    folder.add("b/c")
    path = folder.witness("b/c", content)
    queue = folder.open()
    assert queue.get("b/c").state is State.COMPLETED
    assert drain(queue) == {"a": 1}
    assert path.read_text() == content


def test_a_witness_made_by_the_task_itself_is_kept(folder: Folder) -> None:
    folder.add("a")
    queue = folder.open()
    lease = queue.claim()
    assert lease is not None
    path = folder.witness("a", "what the task was to make")
    lease.complete("done")
    assert path.read_text() == "what the task was to make"
    assert queue.detail("a").result == "done"


def test_something_else_in_the_place_of_the_witness_is_an_error(folder: Folder) -> None:
    folder.add("a")
    lease = folder.open().claim()
    assert lease is not None
    (folder.done / "a").mkdir(parents=True)
    with pytest.raises(StorageError, match="move it away"):
        lease.complete()
    (folder.done / "a").rmdir()
    lease.complete()


def test_removing_a_witness_makes_the_task_ready_at_a_higher_epoch(folder: Folder) -> None:
    folder.add("a")
    queue = folder.open()
    for epoch in (1, 2, 3):
        assert drain(queue) == {"a": epoch}
        assert queue.get("a").state is State.COMPLETED
        (folder.done / "a").unlink()
        assert queue.get("a").state is State.READY
    assert drain(folder.open()) == {"a": 4}


def test_an_old_lease_does_not_complete_what_was_made_ready_again(folder: Folder) -> None:
    folder.add("a")
    queue = folder.open()
    sleeper = queue.claim(ttl=0.01)
    assert sleeper is not None
    again = folder.open().claim(wait=5)
    assert again is not None and again.epoch == 2
    again.complete()
    (folder.done / "a").unlink()
    with pytest.raises(LeaseLost, match="now ready"):
        sleeper.complete()
    assert not (folder.done / "a").exists()
    assert drain(queue) == {"a": 3}


def test_a_claimer_with_an_old_listing_looks_for_the_witness_again(folder: Folder) -> None:
    for number in range(5):
        folder.add(str(number))
    queue, other = folder.open(), folder.open()
    first = queue.claim()
    assert first is not None
    assert len(drain(other)) == 4
    assert queue.claim() is None
    assert [name for name in os.listdir(folder.leases) if name.endswith(".lease")] == [f"{first.id}.lease"]


def test_files_added_later_are_tasks(folder: Folder) -> None:
    queue = folder.open()
    assert queue.claim() is None
    folder.add("a")
    folder.add("new/b")
    assert set(drain(queue)) == {"a", "new/b"}
    folder.add("new/c")
    assert set(drain(queue)) == {"new/c"}


def test_a_removed_file_is_no_task(folder: Folder) -> None:
    path = folder.add("a")
    queue = folder.open()
    queue.get("a")
    path.unlink()
    assert queue.claim() is None
    with pytest.raises(TaskNotFound):
        queue.get("a")


@pytest.mark.parametrize("name", [".hidden", "a~", "b.tmp", "c.part", ".git/config", "sub/.x"])
def test_what_is_no_task(folder: Folder, name: str) -> None:
    folder.add(name)
    queue = folder.open()
    assert queue.claim() is None and queue.stats().total == 0


def test_a_file_still_being_written_is_not_yet_a_task(folder: Folder) -> None:
    queue = folder.open("?settle=30")
    now = queue.store_time()
    path = folder.add("copying", mtime=now - 1)
    folder.add("from the future", mtime=now + 3600)
    assert drain(queue) == {"from the future": 1}
    assert queue.get("copying").state is State.SCHEDULED
    assert queue.why("copying").ready_at == pytest.approx(now + 29, abs=0.1)
    assert not list(folder.leases.glob("*.lease"))
    os.utime(path, (now - 31, now - 31))
    assert drain(queue) == {"copying": 1}


def test_by_default_a_file_settles_in_a_second_or_two(folder: Folder) -> None:
    queue = folder.open()
    folder.add("a", mtime=queue.store_time())
    assert queue.claim() is None
    lease = queue.claim(wait=10)
    assert lease is not None


@pytest.mark.parametrize("where", ["?done={root}/in/out&leases={root}/in/leases", "?done={root}/elsewhere/out"])
def test_done_and_leases_may_be_anywhere(folder: Folder, tmp_path: Path, where: str) -> None:
    folder.add("a")
    folder.add("out.txt")
    queue = folder.open(where.format(root=tmp_path))
    assert set(drain(queue)) == {"a", "out.txt"}
    assert queue.stats().states["completed"] == queue.stats().total == 2


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("?color=red", "known: done, leases, settle"),
        ("?settle=soon", "settle=soon"),
        ("?settle=-1", "use seconds"),
        ("?max_attempts=0", "whole number from 1"),
        ("?max_runtime=0", "use seconds"),
        ("?done={root}/in", "three different folders"),
    ],
)
def test_bad_settings_are_refused(folder: Folder, tmp_path: Path, query: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        folder.open(query.format(root=tmp_path))


def test_a_folder_must_exist_and_go_on_existing(folder: Folder) -> None:
    with pytest.raises(BadInput, match="no folder"):
        dibs.open(f"dir:{folder.root}/nothing")
    queue = folder.open()
    folder.root.rename(folder.root.with_name("moved"))
    with pytest.raises(StorageError, match="in"):
        queue.claim()


def test_looking_makes_nothing(folder: Folder) -> None:
    folder.add("a")
    queue = folder.open(create=False)
    assert queue.get("a").state is State.READY
    assert queue.stats().states["ready"] == 1 and queue.claimed() == []
    assert not folder.leases.exists() and not folder.done.exists()


def test_a_newer_format_is_refused(folder: Folder) -> None:
    folder.open()
    (folder.leases / "dibs.json").write_text('{"format": 99, "retention": 1}')
    with pytest.raises(FormatError, match="format 99"):
        folder.open()


NAMES = [
    "plain", "with space", "100%", "%41", "%2541", "a%2Fb", "emoji 🦊", "line\nbreak", "tab\there", "back\\slash",
    "colon:star*", "CON", "-rf", "x.lease", "x", "x.json", "n" * 255, "é" * 127, "u\u0301", "dir/" * 40 + "deep",
]  # fmt: skip


def test_any_file_name_works(folder: Folder) -> None:
    for name in NAMES:
        folder.add(name, name)
    folder.add(os.fsdecode(b"\xff\xfe%FF"), "bytes")
    queue = folder.open()
    seen: dict[str, str] = {}
    leases = queue.claim_many(100)
    records = os.listdir(folder.leases)
    assert len([name for name in records if name.endswith(".lease")]) == len(leases) == len(NAMES) + 1
    for lease in leases:
        path = lease.payload["path"]
        if "path_base64" in lease.payload:
            path = os.fsdecode(base64.b64decode(lease.payload["path_base64"]))
        seen[lease.id] = Path(path).read_text()
        json.dumps(lease.payload).encode()
        lease.complete()
    assert sorted(seen.values()) == sorted([*NAMES, "bytes"])
    assert queue.claim() is None
    assert drain(folder.open()) == {}
    assert sorted(os.listdir(folder.root.parent)) == ["in", "in.done", "in.leases"]


@pytest.mark.parametrize(
    "ref", ["../secret", "/etc/passwd", "a/../../secret", "", ".", "a//b", "a\0b", "\ud800", "x" * 300]
)
def test_no_reference_leaves_the_folder(folder: Folder, ref: str) -> None:
    (folder.root.parent / "secret").write_text("s")
    with pytest.raises(TaskNotFound):
        folder.open().get(ref)


def test_links_to_files_are_tasks_and_links_to_folders_are_not_followed(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("x")
    os.utime(tmp_path / "outside", (OLD, OLD))
    (folder.root / "link").symlink_to(tmp_path / "outside")
    (folder.root / "dangling").symlink_to(tmp_path / "nothing")
    (folder.root / "loop").symlink_to(folder.root)
    os.mkfifo(folder.root / "pipe")
    assert set(drain(folder.open())) == {"link"}


def test_a_lease_file_says_who_holds_what(folder: Folder) -> None:
    folder.add("a/b")
    lease = folder.open().claim(ttl=30)
    assert lease is not None
    record = json.loads((folder.leases / "a%2Fb.lease").read_text())
    assert record["worker_id"] == lease.worker and record["epoch"] == 1 and record["nonce"]
    assert record["heartbeat"] < record["expiry"]
    assert record["lease"]["pid"] == os.getpid()
    lease.complete()
    assert not (folder.leases / "a%2Fb.lease").exists()


def test_what_failed_is_kept_where_a_person_finds_it(folder: Folder) -> None:
    folder.add("a")
    queue = folder.open("?max_attempts=2&backoff=0")
    for text in ("first", "second"):
        lease = queue.claim()
        assert lease is not None
        lease.fail(text)
    assert queue.claim() is None
    assert json.loads((folder.leases / "failed" / "a.json").read_text())["state"] == "failed"
    detail = queue.detail("a")
    assert [event.error for event in detail.history] == ["first", "second"]
    assert "second" in queue.why("a").text
    assert queue.retry("a").state is State.READY
    assert not (folder.leases / "failed" / "a.json").exists()
    assert drain(queue) == {"a": 3}
    with pytest.raises(Refused, match="completed"):
        queue.retry("a")


def test_a_lease_of_somebody_elses_make_is_respected(folder: Folder) -> None:
    folder.add("a")
    folder.add("b")
    queue = folder.open()
    (folder.leases / "a.lease").write_text('{"worker_id": "shell-7", "epoch": 1}')
    (folder.leases / "notes.txt").write_text("mine")
    (folder.leases / "failed").mkdir()
    (folder.leases / "failed" / ".DS_Store").write_text("junk")
    (folder.leases / "failed" / "b.json").write_text("{half")
    assert drain(queue) == {}  # b: its record is damaged, and for a person to look at
    (folder.leases / "failed" / "b.json").unlink()
    assert drain(queue) == {"b": 1}
    assert (folder.leases / "a.lease").exists() and (folder.leases / "notes.txt").exists()


def test_an_empty_lease_file_holds_nothing_for_long(folder: Folder) -> None:
    folder.add("a")
    queue = folder.open()
    path = folder.leases / "a.lease"
    path.touch()
    assert queue.claim() is None
    os.utime(path, (OLD, OLD))
    lease = folder.open().claim(wait=5)
    assert lease is not None and lease.epoch == 1


def test_somebody_stopped_within_a_step_holds_up_one_task_only(folder: Folder) -> None:
    folder.add("a")
    queue = folder.open()
    stuck = queue.claim(ttl=0.01)
    assert stuck is not None
    folder.add("b")
    with open(folder.leases / "a.lease", "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert drain(folder.open()) == {"b": 1}
        assert folder.open().claim() is None
    lease = folder.open().claim(wait=5)
    assert lease is not None and (lease.id, lease.epoch) == ("a", 2)


DIE = """
import os, sys
import dibs
from dibs.queues.directory.past import Pasts
from dibs.stores.files import Locked
queue = dibs.open(sys.argv[1])
lease = queue.claim()
where = sys.argv[2]
if where == "claimed":
    os._exit(0)
if where == "witness written":
    Pasts.write = lambda *_: os._exit(0)
else:
    Locked.delete = lambda *_: os._exit(0)
lease.complete("once")
"""


@pytest.mark.parametrize("where", ["claimed", "witness written", "past written"])
def test_a_crash_in_the_middle_of_completing(folder: Folder, where: str) -> None:
    folder.add("a")
    subprocess.run([sys.executable, "-c", DIE, f"dir:{folder.root}", where], check=True)
    assert (folder.leases / "a.lease").exists()
    queue = folder.open()
    if where == "claimed":
        assert drain(queue) == {"a": 2}
        assert queue.detail("a").history[0].what == "died"
        return
    assert drain(queue) == {}
    assert not (folder.leases / "a.lease").exists()
    assert json.loads((folder.done / "a").read_text())["epoch"] == 1
    task = queue.get("a")
    assert (task.state, task.epoch, task.deaths) == (State.COMPLETED, 1, 0)
    (folder.done / "a").unlink()
    assert drain(queue) == {"a": 2}


def test_a_crash_of_who_cancels_changes_nothing(folder: Folder) -> None:
    folder.add("a")
    drain(folder.open())
    (folder.done / "a").unlink()
    code = DIE.replace("lease = queue.claim()", "").replace('lease.complete("once")', 'queue.cancel("a")')
    subprocess.run([sys.executable, "-c", code, f"dir:{folder.root}", "witness written"], check=True)
    assert (folder.leases / "a.lease").exists()
    queue = folder.open()
    assert drain(queue) == {"a": 2}
    assert queue.get("a").deaths == 0


def test_a_claim_does_not_walk_the_tree(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(200):
        folder.add(f"{number % 2}/{number}")
    queue = folder.open()
    walked: list[str] = []
    real = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: walked.append(str(path)) or real(path))
    for _ in range(150):
        lease = queue.claim()
        assert lease is not None
        lease.complete()
    assert sum(path.startswith(f"{folder.root}/") for path in walked) <= 3
    drain(queue)
    long_ago = queue.store_time() - 60
    for path in (folder.root, folder.root / "0", folder.root / "1", folder.done, folder.done / "0", folder.done / "1"):
        os.utime(path, (long_ago, long_ago))
    assert queue.claim() is None
    walked.clear()
    assert queue.claim() is None  # nothing changed: not even the folders are read again
    assert not [path for path in walked if path.startswith((f"{folder.root}/", str(folder.done)))]
    folder.add("1/more")
    assert drain(queue) == {"1/more": 1}


def test_push_writes_a_file(folder: Folder) -> None:
    queue = folder.open()
    task = queue.push({"tile": 3}, key="tiles/3.json")
    assert (task.id, task.state, task.duplicate) == ("tiles/3.json", State.READY, False)
    assert json.loads((folder.root / "tiles/3.json").read_text()) == {"tile": 3}
    again = queue.push({"tile": 4}, key="tiles/3.json")
    assert again.duplicate and json.loads((folder.root / "tiles/3.json").read_text()) == {"tile": 3}
    unnamed = queue.push([1])
    assert json.loads((folder.root / unnamed.id).read_text()) == [1]
    assert set(drain(queue)) == {"tiles/3.json", unnamed.id}  # at once: nobody is still writing them


def test_push_of_a_completed_key(folder: Folder) -> None:
    queue = folder.open()
    queue.push({"tile": 3}, key="3")
    drain(queue)
    assert queue.push({"tile": 3}, key="3", unique="completed").duplicate
    with pytest.raises(Refused, match="remove its witness"):
        queue.push({"tile": 4}, key="3")
    again = queue.push({"tile": 3}, key="3")
    assert (again.duplicate, again.state) == (False, State.READY)
    assert drain(queue) == {"3": 2}
    (folder.done / "3").write_text("somebody's own")
    with pytest.raises(Refused, match="remove its witness"):
        queue.push({"tile": 3}, key="3")
    assert (folder.done / "3").read_text() == "somebody's own"


@pytest.mark.parametrize(
    "key", ["../x", "/abs", "a//b", ".hidden", "a/.b", "x~", "x.tmp", "x.part", "..", "a\0b", "%41"]
)
def test_push_refuses_keys_that_are_no_file_names(folder: Folder, key: str) -> None:
    with pytest.raises(BadInput, match="not acceptable"):
        folder.open().push(1, key=key)
    assert folder.snapshot() == {}


@pytest.mark.parametrize(
    "more",
    [{"priority": "high"}, {"project": "p"}, {"labels": ["x"]}, {"delay": 1}, {"after": ["a"]}, {"max_attempts": 9}],
    ids=str,
)
def test_push_refuses_what_a_file_cannot_have(folder: Folder, more: dict[str, Any]) -> None:
    with pytest.raises(Unsupported, match="file: queue"):
        folder.open().push(1, **more)


def test_purge_forgets_only_files_that_are_gone(folder: Folder) -> None:
    path = folder.add("a")
    folder.add("b")
    queue = folder.open()
    drain(queue)
    assert queue.purge(older_than=0) == 0
    path.unlink()
    assert queue.purge(older_than=3600) == 0
    assert queue.purge(older_than=0) == 1
    assert sorted(os.listdir(folder.leases / "retired")) == ["b.json"]


def test_threads_share_a_queue(folder: Folder) -> None:
    for number in range(200):
        folder.add(str(number))
    queue = folder.open()
    taken: list[tuple[str, int]] = []

    def work() -> None:
        for lease in queue.claims():
            taken.append((lease.id, lease.epoch))
            lease.complete()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == sorted((str(number), 1) for number in range(200))


def test_limits_come_from_the_url(folder: Folder) -> None:
    folder.add("a")
    task: Task = folder.open("?max_attempts=7&max_deaths=2&max_runtime=9&backoff=3&max_backoff=4").get("a")
    limits = (task.max_attempts, task.max_deaths, task.max_runtime, task.backoff, task.max_backoff)
    assert limits == (7, 2, 9.0, 3.0, 4.0)


def test_one_shot_claims_go_on_from_what_the_one_before_saw(folder: Folder) -> None:
    """No single command lives long enough to watch a silent holder on another host for its TTL."""
    folder.add("a")
    there = Host("pi-1", "machine-1", "boot-1", "space-1")
    here = Host("pi-2", "machine-2", "boot-2", "space-2")
    assert folder.open(host=there).claim(ttl=0.1) is not None
    end = SYSTEM.boottime() + 30
    tries = 0
    while True:
        tries += 1
        with folder.open(host=here, pid=None) as queue:
            lease = queue.claim()
        if lease is not None:
            break
        assert SYSTEM.boottime() < end, "never noticed"
        SYSTEM.sleep(0.05)
    assert lease.epoch == 2 and tries > 3
