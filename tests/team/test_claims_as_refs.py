"""Claims as refs: what the remote's refs say, and when the file follows."""

import signal
import subprocess
import sys

import pytest

import dibs
from children import environment
from git.clones import SPECS, git
from team.place import Place

KILLED = """
import os, signal, sys
import dibs
from dibs.queues.specs.refs.steps import RefSteps
RefSteps.tell = lambda *args: os.kill(os.getpid(), signal.SIGKILL)
dibs.open(sys.argv[1]).claim().complete({"n": 1})
"""


def test_a_heartbeat_is_an_update_of_the_ref(place: Place) -> None:
    one, two = place.member("one", "refs"), place.member("two", "refs")
    lease = one.take("a")
    for spec in ("b", "c"):
        two.take(spec).complete()
    for _ in range(4):
        before = place.refs()["refs/dibs/leases/a/1"]
        for member in (one, two):
            member.clock.advance(20)
        lease.renew()
        after = place.refs()
        assert after["refs/dibs/leases/a/1"] == after["refs/dibs/cells/a"] != before
        assert two.queue.claim() is None
    assert place.leases("a") == ["1"] and git(one.path, "status", "--porcelain") == ""
    lease.complete()


def test_takeover_is_the_next_epochs_ref_and_the_old_one_is_refused(place: Place) -> None:
    one, two = place.member("one", "refs"), place.member("two", "refs")
    lost = one.take("a")
    for spec in ("b", "c"):
        two.take(spec).complete()
    two.clock.advance(30)
    assert two.queue.claim() is None
    one.clock.advance(30)
    assert not lost.held
    two.clock.advance(2)
    taken = two.take("a")
    assert (taken.epoch, place.leases("a"), place.cell("a")["deaths"]) == (2, ["2"], 1)
    before = place.refs()
    for step in (lost.complete, lost.renew, lost.release):
        with pytest.raises(dibs.LeaseLost):
            step()
    assert place.refs() == before and one.status("a") == "pending"
    taken.complete()
    assert (place.cell("a")["state"], place.cell("a")["epoch"], place.leases("a")) == ("completed", 2, ["2"])
    assert (one.status("a"), two.status("a")) == ("pending", "completed")


def test_nothing_but_refs_changes_until_a_spec_has_ended(place: Place) -> None:
    one = place.member("one", "refs")
    before, branch = one.users(), place.refs()["refs/heads/main"]
    lease = one.take("a")
    lease.renew()
    lease.release()
    assert one.users() == before and place.refs()["refs/heads/main"] == branch
    again = one.take()
    again.complete()
    assert git(one.path, "status", "--porcelain") == f" M {SPECS}/{again.id}.md\n"


def test_who_was_killed_before_the_file_was_written_has_it_written_by_the_next_there(place: Place) -> None:
    one, two = place.member("one", "refs"), place.member("two", "refs")
    killed = subprocess.run([sys.executable, "-c", KILLED, one.url], env=environment(), capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert (place.cell("a")["state"], one.status("a")) == ("completed", "pending")
    two.take("b")
    assert two.status("a") == "pending", "it was not done there"
    one.take("c")
    assert one.status("a") == "completed" and "started_by: " in one.text("a")
    assert one.queue.detail("a").result == {"n": 1}
    assert git(one.path, "status", "--porcelain") == f" M {SPECS}/a.md\n"


def test_of_two_who_claim_at_once_the_second_gets_another(place: Place) -> None:
    one, two = place.member("one", "refs"), place.member("two", "refs")
    one.take("a")
    (place.remote / "next").write_text(place.refs()["refs/dibs/cells/a"])
    for ref in ("refs/dibs/cells/a", "refs/dibs/leases/a/1"):
        git(place.remote, "update-ref", "-d", ref)
    place.hook(
        "pre-receive",
        'next="$GIT_DIR/next"; [ -e "$next" ] || exit 0; unset GIT_QUARANTINE_PATH\n'
        'for ref in cells/a leases/a/1; do git update-ref refs/dibs/$ref "$(cat "$next")"; done; rm "$next"',
    )
    before = two.users()
    assert two.take("b").epoch == 1
    assert not (place.remote / "next").exists(), "they did not meet: the test shows nothing"
    assert place.cell("a")["holder"].startswith("one-") and two.users() == before


def test_an_answer_that_is_lost_when_all_is_written_is_found_out(place: Place) -> None:
    one = place.member("one", "refs")
    place.hook("reference-transaction", '[ "$1" = committed ] && kill -9 $PPID; exit 0')
    one.take("a").complete()
    assert (place.cell("a")["state"], place.cell("a")["epoch"], one.status("a")) == ("completed", 1, "completed")


def test_a_completed_spec_is_not_run_again_where_its_file_is_still_pending(place: Place) -> None:
    one, two = place.member("one", "refs"), place.member("two", "refs")
    one.take("a").complete()
    git(one.path, "checkout", "-q", "--", SPECS)  # its user threw the change away
    assert (one.status("a"), two.status("a")) == ("pending", "pending")
    assert [two.take().id, two.take().id, two.queue.claim()] == ["b", "c", None]
    with pytest.raises(dibs.Refused, match="completed"):
        two.queue.claim_one("a", 30)
    assert one.open().claim() is None and one.queue.get("a").state == "completed"
    assert place.cell("a")["epoch"] == 1
