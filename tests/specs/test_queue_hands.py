"""Specs whose files people change, move and remove while the queue works on them."""

import shutil
from pathlib import Path

import pytest

from dibs.errors import LeaseLost, Refused, StorageError, TaskNotFound
from dibs.queues.lockfiles.past import Past, Pasts
from dibs.specs.frontmatter import read
from dibs.states import State
from specs.spec_folder import PENDING, Folder, all_taken, taken

ENDED = {
    "completed": State.COMPLETED,
    "cancelled": State.CANCELLED,
    "failed": State.FAILED,
    "needs_attention": State.FAILED,
}
ENDS = {
    "complete": lambda lease: lease.complete("mine"),
    "fail": lambda lease: lease.fail("mine"),
    "release": lambda lease: lease.release(),
}


@pytest.fixture
def folder(quick_folder: Path) -> Folder:
    return Folder(quick_folder)


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("status", ENDED)
def test_what_a_person_has_ended_is_over_for_its_holder(folder: Folder, status: str, end: str) -> None:
    path = folder.add("a")
    queue = folder.open()
    lease = taken(queue)
    folder.set_status("a", status)
    by_hand = path.read_bytes()
    assert queue.get("a").state is ENDED[status]
    with pytest.raises(LeaseLost):
        ENDS[end](lease)
    assert path.read_bytes() == by_hand
    assert folder.left_locks() == []
    assert folder.open().claim() is None
    if status != "completed":
        queue.retry("a")
        assert taken(queue).epoch > lease.epoch


def test_what_a_person_has_ended_is_not_run_again_when_its_holder_dies(folder: Folder) -> None:
    path = folder.add("a")
    folder.claim_and_die()
    folder.set_status("a", "cancelled")
    by_hand = path.read_bytes()
    queue = folder.open()
    assert queue.claim() is None
    assert path.read_bytes() == by_hand
    assert folder.left_locks() == []
    assert queue.retry("a").state is State.READY
    assert taken(queue).epoch > 1


@pytest.mark.parametrize("status", ["paused", "blocked"])
def test_what_a_person_has_paused_stays_so_when_it_is_given_back(folder: Folder, status: str) -> None:
    folder.add("a")
    queue = folder.open("?backoff=0")
    for count, end in enumerate(("release", "fail"), 1):
        lease = taken(queue)
        folder.set_status("a", status)
        ENDS[end](lease)
        assert read(folder.path("a").read_bytes())["status"] == status
        assert queue.claim() is None
        assert f"status was set to {status}" in queue.why("a").text
        folder.set_status("a", "pending")
        assert queue.get("a").epoch == count
    assert read(folder.path("a").read_bytes())["attempts"] == 1


def test_what_a_person_has_paused_can_still_be_completed(folder: Folder) -> None:
    folder.add("a")
    queue = folder.open()
    lease = taken(queue)
    folder.set_status("a", "paused")
    lease.complete()
    assert queue.get("a").state is State.COMPLETED


def test_what_a_person_has_paused_stays_so_when_its_holder_dies(folder: Folder) -> None:
    folder.add("a")
    folder.claim_and_die()
    folder.set_status("a", "paused")
    queue = folder.open()
    assert queue.claim() is None
    assert read(folder.path("a").read_bytes())["status"] == "paused"
    assert folder.left_locks() == []


def test_pending_set_by_hand_takes_nothing_from_its_holder(folder: Folder) -> None:
    folder.add("a")
    queue = folder.open()
    lease = taken(queue)
    folder.add("a")
    assert folder.open().claim() is None
    lease.renew()
    lease.complete("mine")
    assert queue.detail("a").result == "mine"
    assert read(folder.path("a").read_bytes())["status"] == "completed"


def test_in_progress_by_hand_is_nobodys_to_take_until_it_is_given_free(folder: Folder) -> None:
    text = "---\nstatus: in_progress\nstarted_by: ann\nstarted_at: 2026-11-16T09:00:00Z\n---\n# Title\n"
    path = folder.add("a", text)
    queue = folder.open()
    assert queue.claim() is None
    assert queue.get("a").state is State.CLAIMED
    assert [(claim.id, claim.worker, claim.pid) for claim in queue.claimed()] == [("a", "ann", None)]
    assert "by ann" in queue.why("a").text and "dibs specs release a" in queue.why("a").text
    with pytest.raises(Refused, match="by ann"):
        queue.claim_one("a", 60)
    with pytest.raises(LeaseLost):
        queue.lease("a", 1)
    assert path.read_text() == text
    assert queue.free("a").state is State.READY
    assert path.read_text() == PENDING
    assert taken(queue).epoch == 1


def test_in_progress_by_hand_can_be_cancelled(folder: Folder) -> None:
    folder.add("a", "---\nstatus: in_progress\n---\n")
    queue = folder.open()
    assert queue.cancel("a").state is State.CANCELLED
    assert folder.path("a").read_text() == "---\nstatus: cancelled\n---\n"


def test_what_is_held_is_not_given_free(folder: Folder) -> None:
    """`free` is for what nobody holds; from a holder it takes the lease, whose epoch then counts no longer."""
    folder.add("a")
    queue = folder.open()
    lease = taken(queue)
    queue.free("a")
    with pytest.raises(LeaseLost):
        lease.complete()
    assert taken(queue).epoch == 2


@pytest.mark.parametrize("end", ENDS)
def test_a_file_that_is_removed_while_held(folder: Folder, end: str) -> None:
    path = folder.add("a")
    queue = folder.open()
    lease = taken(queue)
    path.unlink()
    with pytest.raises(LeaseLost):
        ENDS[end](lease)
    assert not path.exists()
    assert folder.left_locks() == []
    with pytest.raises(TaskNotFound):
        queue.get("a")
    folder.add("a")
    assert taken(folder.open()).epoch == 2


def test_a_file_that_is_removed_and_whose_holder_dies(folder: Folder) -> None:
    folder.add("a")
    folder.claim_and_die()
    folder.path("a").unlink()
    assert folder.open().claim() is None
    assert folder.left_locks() == []


def test_a_file_that_is_renamed_while_held_is_in_progress_under_its_new_name(folder: Folder) -> None:
    path = folder.add("a")
    queue = folder.open()
    lease = taken(queue)
    path.rename(folder.path("b"))
    with pytest.raises(LeaseLost):
        lease.complete()
    assert [path.name for path in folder.specs.iterdir()] == ["b.md"]
    assert queue.claim() is None
    assert "dibs specs release b" in queue.why("b").text
    queue.free("b")
    assert taken(queue).id == "b"


def test_what_a_spec_waits_for_counts_from_the_moment_it_is_saved(folder: Folder) -> None:
    folder.add("first")
    folder.add("second", "---\nstatus: pending\ndepends_on: [first]\n---\n")
    queue = folder.open()
    assert all_taken(queue) == {"first"}
    folder.set_status("first", "completed")
    assert all_taken(folder.open()) == {"second"}


def test_a_dependency_added_after_the_scan_holds_the_spec_back(folder: Folder) -> None:
    folder.add("a")
    folder.add("b")
    folder.add("open", "---\nstatus: paused\n---\n")
    queue = folder.open()
    assert taken(queue).id == "a"  # what is ready has been listed now
    folder.add("b", "---\nstatus: pending\ndepends_on: open\n---\n")
    assert queue.claim() is None
    assert folder.left_locks() == ["a.pid"]


def test_a_completed_spec_set_to_pending_runs_again_at_a_higher_epoch(folder: Folder) -> None:
    folder.add("a")
    queue = folder.open()
    first = taken(queue)
    first.complete()
    folder.set_status("a", "pending")
    second = taken(folder.open())
    assert second.epoch == 2
    with pytest.raises((LeaseLost, Refused)):
        first.complete()
    second.complete()


def test_attempts_written_by_hand_count(folder: Folder) -> None:
    folder.add("a", "---\nstatus: pending\nattempts: 2\nmax_attempts: 3\n---\n")
    queue = folder.open()
    taken(queue).fail("once more")
    assert queue.get("a").state is State.FAILED
    assert read(folder.path("a").read_bytes())["attempts"] == 3


def test_limits_in_the_file_come_before_those_of_the_url(folder: Folder) -> None:
    folder.add("own", "---\nmax_attempts: 1\nmax_deaths: 7\nmax_runtime: 2.5\nbackoff: 0\nmax_backoff: 9\n---\n")
    folder.add("none")
    queue = folder.open("?max_attempts=4&max_deaths=6&max_runtime=60&backoff=3&max_backoff=8")
    own, none = queue.get("own"), queue.get("none")
    assert (own.max_attempts, own.max_deaths, own.max_runtime, own.backoff, own.max_backoff) == (1, 7, 2.5, 0, 9)
    assert (none.max_attempts, none.max_deaths, none.max_runtime, none.backoff, none.max_backoff) == (4, 6, 60, 3, 8)


def test_a_paused_queue_gives_nothing_not_even_by_name(folder: Folder) -> None:
    folder.add("a")
    queue = folder.open()
    queue.pause("holiday")
    assert queue.claim() is None
    with pytest.raises(Refused, match="holiday"):
        queue.claim_one("a", 60)
    queue.resume()
    queue.claim_one("a", 60).complete()


def test_a_spec_that_kills_its_workers_ends_as_failed(folder: Folder) -> None:
    folder.add("a", "---\nstatus: pending\nmax_deaths: 2\n---\n")
    for _ in range(2):
        folder.claim_and_die()
    queue = folder.open()
    assert queue.claim() is None
    assert queue.get("a").state is State.FAILED
    fields = read(folder.path("a").read_bytes())
    assert fields["status"] == "failed" and "died" in fields["error"]
    assert queue.retry("a").state is State.READY
    assert taken(queue).epoch == 3


def test_locks_that_are_swept_away_end_the_leases_and_nothing_else(folder: Folder) -> None:
    """As `git clean -X` does. The epochs begin anew; an old lease is refused all the same."""
    folder.add("a")
    lease = taken(folder.open())
    shutil.rmtree(folder.locks)
    queue = folder.open()
    assert queue.claim() is None
    assert "dibs specs release a" in queue.why("a").text
    queue.free("a")
    later = taken(queue)
    with pytest.raises(LeaseLost):
        lease.renew()
    with pytest.raises(LeaseLost):
        lease.complete()
    later.complete("later")
    assert queue.detail("a").result == "later"


def test_a_retry_that_breaks_off_starts_afresh_after_a_cancel_that_did(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both had written the file, and nothing more: that somebody died of it before is forgotten all the same."""
    folder.add("a")
    folder.claim_and_die()
    queue = folder.open()
    taken(queue).release()
    assert queue.get("a").deaths == 1
    write = Pasts.write

    def failing(pasts: Pasts, task_id: str, past: Past) -> None:
        if past.cell.state is not written_before:
            raise StorageError("the disk is full")
        write(pasts, task_id, past)

    monkeypatch.setattr(Pasts, "write", failing)
    written_before = None
    with pytest.raises(StorageError):
        queue.cancel("a")
    assert queue.get("a").state is State.CANCELLED
    written_before = State.CANCELLED
    with pytest.raises(StorageError):
        queue.retry("a")
    task = folder.open().get("a")
    assert (task.state, task.attempts, task.deaths) == (State.READY, 0, 0)
