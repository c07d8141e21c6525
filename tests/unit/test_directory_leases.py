"""The lease files of `dir:`: who holds what, whatever dies when."""

import fcntl
import json
import os
import subprocess
import sys
import threading

import pytest
from directory_folder import OLD, Folder, drain

from dibs.clock import SYSTEM
from dibs.errors import LeaseLost, Refused
from dibs.host import Host
from dibs.queues.held import Lease
from dibs.states import State
from waiting import until


def test_an_old_lease_does_not_complete_what_was_made_ready_again(folder: Folder) -> None:
    folder.add("a")
    queue = folder.open()
    sleeper = queue.claim(ttl=0.5)
    assert sleeper is not None
    again = folder.open().claim(wait=60)
    assert again is not None and again.epoch == 2
    again.complete()
    (folder.done / "a").unlink()
    with pytest.raises(LeaseLost, match="now ready"):
        sleeper.complete()
    assert not (folder.done / "a").exists()
    assert drain(queue) == {"a": 3}


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
    lease = folder.open().claim(wait=60)
    assert lease is not None and lease.epoch == 1


def test_somebody_stopped_within_a_step_holds_up_one_task_only(folder: Folder) -> None:
    folder.add("a")
    queue = folder.open()
    stuck = queue.claim(ttl=0.5)
    assert stuck is not None
    folder.add("b")
    with open(folder.leases / "a.lease", "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        while stuck.held:
            SYSTEM.sleep(0.01)
        assert drain(folder.open()) == {"b": 1}
        assert folder.open().claim() is None
    lease = folder.open().claim(wait=60)
    assert lease is not None and (lease.id, lease.epoch) == ("a", 2)


DIE = """
import os, sys
import dibs
from dibs.queues.lockfiles.past import Pasts
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
    assert [event.what for event in queue.detail("a").history] == ["completed"]
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


def test_a_crash_in_the_middle_of_a_retry(folder: Folder) -> None:
    """The new record is written, the old one still there: the later one counts, and the task runs."""
    folder.add("a")
    queue = folder.open("?max_attempts=1")
    lease = queue.claim()
    assert lease is not None
    lease.fail("no")
    code = """
import os, sys
import dibs
from dibs.stores.files import FileStore
FileStore.delete = lambda *_: os._exit(0)
dibs.open(sys.argv[1]).retry("a")
"""
    subprocess.run([sys.executable, "-c", code, f"dir:{folder.root}"], check=True)
    assert (folder.leases / "a.lease").exists() and (folder.leases / "failed" / "a.json").exists()
    assert queue.get("a").state is State.READY
    assert drain(folder.open()) == {"a": 2}
    assert not (folder.leases / "failed" / "a.json").exists()


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


def test_one_shot_claims_go_on_from_what_the_one_before_saw(folder: Folder) -> None:
    """No single command lives long enough to watch a silent holder on another host for its TTL."""
    folder.add("a")
    there = Host("pi-1", "machine-1", "boot-1", "space-1")
    here = Host("pi-2", "machine-2", "boot-2", "space-2")
    assert folder.open(host=there).claim(ttl=2) is not None
    tries = 0

    def claimed() -> Lease | None:
        nonlocal tries
        tries += 1
        with folder.open(host=here, pid=None) as queue:
            return queue.claim()

    lease = until(claimed, "one to notice")
    assert lease.epoch == 2 and tries > 3
