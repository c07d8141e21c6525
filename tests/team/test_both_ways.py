"""What holds whichever way the claims go: refusals, no network, steering, dependencies, remotes and branches."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import dibs
from git.clones import SPECS, git, hook
from team.place import Member, Place

both = pytest.mark.parametrize("mode", ["push", "refs"])


@both
def test_a_remote_that_goes_on_refusing_is_a_clear_error_and_changes_nothing(place: Place, mode: str) -> None:
    member = place.member("one", mode)
    refusal = place.hook("pre-receive", "echo no claims on Sundays; exit 1")
    before, refs = member.users(), place.refs()
    with pytest.raises(dibs.StorageError, match=r"refuses .*no claims on Sundays"):
        member.queue.claim()
    assert (member.users(), place.refs(), member.locks()) == (before, refs, [])
    refusal.unlink()
    lease = member.take()
    refusal = place.hook("pre-receive", "echo no claims on Sundays; exit 1")
    held, refs = member.users(), place.refs()
    with pytest.raises(dibs.StorageError, match=r"refuses .*no claims on Sundays"):
        lease.complete()
    assert (member.users(), place.refs()) == (held, refs) and lease.held
    refusal.unlink()
    lease.complete()
    assert place.status(lease.id, mode) == "completed" and member.locks() == []


@both
def test_without_the_remote_there_is_a_clear_error_and_later_all_goes_on(place: Place, mode: str) -> None:
    member = place.member("one", mode)
    lease = member.take("a")
    before, away = member.users(), place.folder / "away"
    place.remote.rename(away)
    for step in (member.queue.claim, lease.complete, lambda: member.open().claim()):
        with pytest.raises(dibs.StorageError, match="remote"):
            step()
    assert member.users() == before and lease.held
    away.rename(place.remote)
    lease.complete()
    assert place.status("a", mode) == "completed"
    assert {member.take().id, member.take().id} == {"b", "c"}


@both
def test_who_was_taken_over_can_do_nothing_any_more(place: Place, mode: str) -> None:
    one, two = place.member("one", mode), place.member("two", mode)
    lost = one.take("a")
    two.queue.cancel("b")
    two.queue.cancel("c")
    two.queue.claim()
    two.clock.advance(200)
    taken = two.take("a")
    refs, users = place.refs(), one.users()
    for step in (lost.complete, lambda: lost.fail("x"), lost.release, lost.renew):
        with pytest.raises(dibs.LeaseLost):
            step()
        lost.state = "held"
    assert (place.refs(), one.users()) == (refs, users)
    assert taken.held
    taken.complete()
    assert place.status("a", mode) == "completed"


@both
def test_cancel_and_retry_reach_everybody_and_the_holder(place: Place, mode: str) -> None:
    one, two = place.member("one", mode), place.member("two", mode)
    lease = one.take("a")
    if mode == "push":
        assert two.queue.cancel("a").state == "cancelled"
    else:
        assert two.queue.cancel("a").epoch == 2
    with pytest.raises(dibs.LeaseLost):
        lease.complete()
    assert place.status("a", mode) == "cancelled" and two.queue.get("a").state == "cancelled"
    assert one.queue.get("a").state == "cancelled"
    with pytest.raises(dibs.Refused):
        two.queue.cancel("a")
    assert two.queue.retry("a").state == "ready"
    again = one.queue.claim_one("a", 30)
    assert again.epoch > lease.epoch
    again.fail("no good", retry=False)
    assert place.status("a", mode) == "failed"
    assert one.queue.retry("a").state == "ready"
    last = two.queue.claim_one("a", 30)
    assert last.epoch > again.epoch
    last.complete()
    assert place.status("a", mode) == "completed"


def test_by_refs_a_completion_frees_dependents_here_at_once_and_elsewhere_with_its_commit(place: Place) -> None:
    one, two = _chained(place, "refs")
    one.take("a").complete()
    assert two.queue.claim() is None
    later = one.take("b")
    later.release()
    git(one.path, "commit", "-qam", "done")
    git(one.path, "push", "-q")
    assert two.queue.claim() is None
    git(two.path, "pull", "-q")
    assert two.take("b").epoch == later.epoch + 1


def test_by_push_a_completion_frees_dependents_everywhere_at_once(place: Place) -> None:
    one, two = _chained(place, "push")
    lease = one.take("a")
    assert two.queue.claim() is None
    lease.complete()
    two.clock.advance(10)
    assert two.take("b").epoch == 1


def _chained(place: Place, mode: str) -> tuple[Member, Member]:
    """Three specs, each after the one before."""
    clone = place.clone("chain")
    for name, before in (("b", "a"), ("c", "b")):
        path = clone / SPECS / f"{name}.md"
        path.write_text(path.read_text().replace("status", f"depends_on: {before}\nstatus", 1))
    place.commit(clone, "chain")
    git(clone, "push", "-q")
    return place.member("one", mode), place.member("two", mode)


@both
def test_the_remote_that_is_asked_for_and_no_other(place: Place, mode: str) -> None:
    other = place.folder / "other.git"
    shutil.copytree(place.remote, other)
    clone = place.clone("one")
    git(clone, "remote", "add", "other", str(other))
    before = place.refs()
    member = Member(clone, mode, "&remote=other")
    member.take("a").complete()
    assert place.refs() == before
    refs = git(other, "for-each-ref", "--format=%(refname)").split()
    assert ("refs/dibs/cells/a" in refs) == (mode == "refs")
    assert ("dibs: complete a" in git(other, "log", "--format=%s", "main")) == (mode == "push")
    assert place.member("two", mode).take("a").epoch == 1, "the first remote knows nothing of it"


def test_the_branch_that_is_asked_for_and_no_other(place: Place) -> None:
    git(place.remote, "branch", "plans", "main")
    main = place.refs()["refs/heads/main"]
    member = place.member("one", "push", "&branch=plans")
    before = member.users()
    member.take("a").complete()
    assert place.refs()["refs/heads/main"] == main and member.users() == before
    assert place.log("plans") == ["dibs: complete a", "dibs: claim a", "start"]


def _detached(clone: Path) -> None:
    git(clone, "checkout", "-q", "--detach")


def _unborn(clone: Path) -> None:
    git(clone, "checkout", "-q", "--orphan", "new")


def _full_index(clone: Path) -> None:
    (clone / "code.py").write_text("staged\n")
    (clone / "fresh.py").write_text("fresh\n")
    git(clone, "add", "code.py", "fresh.py")
    git(clone, "rm", "-q", "--cached", f"{SPECS}/c.md")
    (clone / "code.py").write_text("and more\n")
    (clone / SPECS / "a.md").write_text((clone / SPECS / "a.md").read_text() + "my note\n")
    git(clone, "add", f"{SPECS}/a.md")


def _diverged(clone: Path) -> None:
    (clone / "code.py").write_text("mine\n")
    git(clone, "commit", "-qam", "mine")


def _conflict(clone: Path) -> None:
    git(clone, "checkout", "-q", "-b", "side")
    (clone / "code.py").write_text("side\n")
    git(clone, "commit", "-qam", "side")
    git(clone, "checkout", "-q", "main")
    _diverged(clone)


def _mid_rebase(clone: Path) -> None:
    _conflict(clone)
    git(clone, "rebase", "side", ok=False)
    assert (clone / ".git" / "rebase-merge").exists()


def _mid_merge(clone: Path) -> None:
    _conflict(clone)
    git(clone, "merge", "side", ok=False)
    assert (clone / ".git" / "MERGE_HEAD").exists()


STATES = [_detached, _unborn, _full_index, _diverged, _mid_rebase, _mid_merge]


@both
@pytest.mark.parametrize("prepare", STATES, ids=lambda prepare: prepare.__name__.strip("_"))
def test_in_any_state_of_the_repository_claims_work_and_leave_it_as_it_was(
    place: Place, mode: str, prepare: Callable[[Path], None]
) -> None:
    clone = place.clone("one")
    prepare(clone)
    member = Member(clone, mode)
    before = member.users()
    lease = member.take("a")
    assert member.users() == before
    lease.release() if mode == "refs" else lease.complete()
    assert member.users() == before and member.locks() == []
    assert place.status("a", mode) == ("completed" if mode == "push" else "ready")


def test_by_push_the_branch_follows_past_work_that_is_not_in_its_way(place: Place) -> None:
    clone = place.clone("one")
    (clone / "code.py").write_text("staged\n")
    git(clone, "add", "code.py")
    (clone / "code.py").write_text("and more\n")
    (clone / SPECS / "b.md").write_text("rewriting this\n")
    (clone / "new.txt").write_text("new\n")
    before = git(clone, "status", "--porcelain")
    Member(clone, "push").take("a").complete()
    assert git(clone, "rev-parse", "HEAD").strip() == place.refs()["refs/heads/main"]
    assert (clone / SPECS / "a.md").read_text() == place.on_branch("a")
    assert git(clone, "status", "--porcelain") == before and git(clone, "show", ":code.py") == "staged\n"
    assert (clone / "code.py").read_text() == "and more\n" and (clone / "new.txt").read_text() == "new\n"
    assert (clone / SPECS / "b.md").read_text() == "rewriting this\n"


@both
def test_hooks_of_the_user_do_not_run(place: Place, mode: str) -> None:
    clone = place.clone("one")
    for name in ("pre-commit", "commit-msg", "pre-push", "post-checkout", "post-merge", "reference-transaction"):
        hook(clone / ".git", name, "touch hook-ran; exit 1")
    Member(clone, mode).take("a").complete()
    assert place.status("a", mode) == "completed"
    assert not list(clone.rglob("hook-ran"))
    assert git(clone, "status", "--porcelain") == ("" if mode == "push" else f" M {SPECS}/a.md\n")


def claim_and_hear_nothing(place: Place, member: Member) -> None:
    """The push takes effect, and then neither its answer nor a look at what became of it gets through."""
    away = place.folder / "away"
    cut = f'[ "$1" = committed ] && {{ mv "{place.remote}" "{away}"; kill -9 $PPID; }}; exit 0'
    cutting = place.hook("reference-transaction", cut)
    with pytest.raises(dibs.StorageError):
        member.queue.claim(ttl=90)
    away.rename(place.remote)
    cutting.unlink()


@both
@pytest.mark.parametrize("closed", [False, True], ids=["goes on", "is closed"])
def test_a_claim_that_nobody_knows_of_is_given_back(place: Place, mode: str, closed: bool) -> None:
    member = place.member("one", mode)
    claim_and_hear_nothing(place, member)
    claimed = "in_progress" if mode == "push" else "claimed"
    assert place.status("a", mode) == claimed, "it was to take effect"
    if closed:
        member.queue.close()
        member.queue = member.open()
    member.clock.advance(6)
    lease = member.take("a", ttl=90)
    assert (lease.epoch, lease.task.deaths) == (2, 0)
    lease.complete()
    assert place.status("a", mode) == "completed"


def test_a_push_that_may_still_be_under_way_is_waited_for(place: Place) -> None:
    """The branch does not show the claim yet: if it were given up, it could appear there with nobody behind it."""
    member = place.member("one", "push")
    before = place.refs()["refs/heads/main"]
    claim_and_hear_nothing(place, member)
    late = place.refs()["refs/heads/main"]
    git(place.remote, "update-ref", "refs/heads/main", before)
    member.clock.advance(6)
    other = member.take("b")
    assert member.locks() == ["a.pid", "b.pid"]
    other.release()
    git(place.remote, "update-ref", "refs/heads/main", late)  # it arrives
    member.clock.advance(6)
    lease = member.take("a", ttl=90)
    assert (lease.epoch, lease.task.deaths) == (2, 0)
