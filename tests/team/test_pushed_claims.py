"""Claims as commits: what happens when the push is rejected, and who is taken for silent."""

import pytest

import dibs
from dibs.stores.store import Unsure
from git.clones import SPECS, git
from team.place import STALE, Place, status

FIRST = """
next="$GIT_DIR/next"
[ -e "$next" ] || exit 0
env -u GIT_QUARANTINE_PATH git update-ref refs/heads/main "$(cat "$next")"
rm "$next"
"""


def test_of_two_who_claim_one_spec_the_second_leaves_no_trace_and_gets_another(place: Place) -> None:
    one, two = place.member("one", "push"), place.member("two", "push")
    before = place.refs()["refs/heads/main"]
    theirs = one.take("a")
    (place.remote / "next").write_text(place.refs()["refs/heads/main"])
    git(place.remote, "update-ref", "refs/heads/main", before)
    place.hook("pre-receive", FIRST)  # while the second pushes its claim, the first one's arrives
    mine = two.take("b")
    assert not (place.remote / "next").exists(), "they did not meet: the test shows nothing"
    assert (mine.epoch, two.locks()) == (1, ["b.pid"])
    assert place.log() == ["dibs: claim b", "dibs: claim a", "start"]
    assert "@one-" in place.on_branch("a") and "@two-" in place.on_branch("b")
    assert git(two.path, "status", "--porcelain") == "" and "@two-" not in two.text("a")
    theirs.complete()
    mine.complete()
    assert (status(place.on_branch("a")), status(place.on_branch("b"))) == ("completed", "completed")


def test_a_push_that_is_refused_for_a_while_is_tried_again(place: Place) -> None:
    member = place.member("one", "push")
    place.hook("pre-receive", 'echo x >> "$GIT_DIR/asked"; [ "$(wc -l < "$GIT_DIR/asked")" -ge 3 ]')
    member.take("a").complete()
    assert place.log() == ["dibs: complete a", "dibs: claim a", "start"]


def test_somebody_elses_commit_does_not_cost_the_claim(place: Place) -> None:
    one, two = place.member("one", "push"), place.member("two", "push")
    before = place.refs()["refs/heads/main"]
    two.queue.push({"title": "More"}, key="d")
    (place.remote / "next").write_text(place.refs()["refs/heads/main"])
    git(place.remote, "update-ref", "refs/heads/main", before)
    place.hook("pre-receive", FIRST)
    assert one.take("a").epoch == 1
    assert place.log() == ["dibs: claim a", "dibs: add d", "start"] and not (place.remote / "next").exists()


def test_a_note_in_the_body_meanwhile_does_not_cost_the_completion(place: Place) -> None:
    one, two = place.member("one", "push"), place.clone("two")
    lease = one.take("a")
    git(two, "pull", "-q")
    with (two / SPECS / "a.md").open("a") as file:
        file.write("a note\n")
    place.commit(two, "a note")
    git(two, "push", "-q")
    lease.complete()
    assert place.on_branch("a").endswith("a\na note\n") and status(place.on_branch("a")) == "completed"
    assert one.text("a") == place.on_branch("a") and git(one.path, "status", "--porcelain") == ""


def test_a_clone_without_a_sign_of_life_is_taken_over_and_refused(place: Place) -> None:
    one, two = place.member("one", "push"), place.member("two", "push")
    lost = one.take("a", ttl=10 * STALE)
    for spec in ("b", "c"):
        two.take(spec).complete()
    two.clock.advance(STALE - 1)
    assert two.queue.claim() is None
    one.clock.advance(STALE * 0.91)
    assert not lost.held, "by its own clock it is over before anybody can take it"
    two.clock.advance(STALE * 0.05)
    taken = two.take("a")
    assert taken.epoch == 2 and "\nepoch: 2\n" in place.on_branch("a")
    with pytest.raises(dibs.LeaseLost, match="two-"):
        lost.complete()
    with pytest.raises(dibs.LeaseLost):
        lost.renew()
    assert "dibs: complete a" not in place.log() and "@two-" in place.on_branch("a")
    assert one.locks() == []
    taken.complete()
    assert place.log().count("dibs: complete a") == 1 and "\nepoch: 2\n" in place.on_branch("a")


def test_one_who_shows_life_is_left_alone_however_long_it_takes(place: Place) -> None:
    one, two = place.member("one", "push"), place.member("two", "push")
    lease = one.take("a", ttl=60)
    for spec in ("b", "c"):
        two.take(spec).complete()
    for _ in range(4):
        for member in (one, two):
            member.clock.advance(STALE * 0.4)
        lease.renew()
        assert two.queue.claim() is None and lease.held
    assert place.log().count("dibs: renew a") == 4
    lease.complete()
    assert place.log()[0] == "dibs: complete a"


def test_one_who_cannot_show_life_gives_up_before_others_take_over(place: Place) -> None:
    one = place.member("one", "push")
    lease = one.take("a", ttl=60)
    hook = place.hook("pre-receive", "exit 1")
    for _ in range(2):
        one.clock.advance(STALE * 0.35)
        lease.renew()
        assert lease.held
    one.clock.advance(STALE * 0.25)
    with pytest.raises(dibs.LeaseLost):
        lease.renew()
    assert not lease.held
    hook.unlink()
    again = one.open().claim_one("a", 30)
    assert (again.epoch, again.task.attempts, again.task.deaths) == (2, 0, 1), "no fault of the task"


def test_the_longest_runtime_still_counts_as_an_attempt(place: Place) -> None:
    one = place.member("one", "push", "&max_runtime=50&backoff=0")
    lease = one.take("a", ttl=20)
    for _ in range(4):
        one.clock.advance(12)
        lease.renew()
    one.clock.advance(12)
    with pytest.raises(dibs.LeaseLost):
        lease.renew()
    assert "\nattempts: 1\n" in place.on_branch("a") and "max_runtime of 50 s" in place.on_branch("a")


def test_an_answer_that_is_lost_when_all_is_written_is_found_out(place: Place) -> None:
    member = place.member("one", "push")
    place.hook("reference-transaction", '[ "$1" = committed ] && kill -9 $PPID; exit 0')
    member.take("a").complete()
    assert place.log() == ["dibs: complete a", "dibs: claim a", "start"]
    assert member.locks() == []


def test_a_completion_without_an_answer_can_be_said_again(place: Place) -> None:
    member = place.member("one", "push")
    lease = member.take("a")
    hook = place.hook("pre-receive", "kill -9 $PPID")
    with pytest.raises(Unsure):
        lease.complete()
    assert status(place.on_branch("a")) == "in_progress"
    hook.unlink()
    lease.complete()
    assert place.log() == ["dibs: complete a", "dibs: claim a", "start"] and member.locks() == []
