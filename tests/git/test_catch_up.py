"""The user's branch follows by itself only when nobody could mind."""

from pathlib import Path

import pytest

from dibs.git.branch import Branch
from git.clones import SPECS, Team, branch_of, git, hook, state


@pytest.fixture
def clone(started: Team) -> Path:
    return started.clone("one")


def published(clone: Path, changes: dict[str, bytes | None] | None = None) -> tuple[Branch, str]:
    branch = branch_of(clone)
    return branch, branch.publish(branch.fetch(), changes or {"a.md": b"done\n", "new.log": b"new\n"}, "specs")


def test_a_clean_clone_follows(clone: Path) -> None:
    for name in ("post-merge", "post-checkout", "reference-transaction", "pre-merge-commit"):
        hook(clone / ".git", name, f"touch {clone}/ran; exit 1")
    branch, tip = published(clone)
    assert branch.catch_up(tip)
    assert git(clone, "rev-parse", "HEAD").strip() == tip and git(clone, "symbolic-ref", "HEAD") == "refs/heads/main\n"
    assert git(clone, "status", "--porcelain") == ""
    assert (clone / SPECS / "a.md").read_bytes() == b"done\n"
    assert branch.catch_up(tip)


def test_what_the_user_changes_elsewhere_stays_as_it_is(clone: Path) -> None:
    branch, tip = published(clone)
    (clone / "code.py").write_text("changed\n")
    (clone / "more.py").write_text("staged\n")
    git(clone, "add", "more.py")
    (clone / "more.py").write_text("staged, then changed\n")
    (clone / "untracked").write_text("x")
    status = git(clone, "status", "--porcelain=v2")
    git(clone, "config", "merge.autoStash", "true")
    assert branch.catch_up(tip)
    assert git(clone, "status", "--porcelain=v2") == status
    assert git(clone, "rev-parse", "HEAD").strip() == tip
    assert git(clone, "show", ":more.py") == "staged\n" and git(clone, "stash", "list") == ""


def changed(clone: Path) -> None:
    (clone / SPECS / "a.md").write_text("mine\n")


def staged(clone: Path) -> None:
    changed(clone)
    git(clone, "add", "-A")


def staged_the_same(clone: Path) -> None:
    (clone / SPECS / "a.md").write_text("done\n")
    git(clone, "add", "-A")


def deleted(clone: Path) -> None:
    git(clone, "rm", "-q", f"{SPECS}/a.md")


def untracked_in_the_way(clone: Path) -> None:
    (clone / SPECS / "plain.md").write_text("mine\n")


def ignored_in_the_way(clone: Path) -> None:
    (clone / SPECS / "new.log").write_text("mine, and ignored\n")


def assumed_unchanged(clone: Path) -> None:
    git(clone, "update-index", "--assume-unchanged", f"{SPECS}/a.md")
    changed(clone)


def skipped_but_there(clone: Path) -> None:
    git(clone, "update-index", "--skip-worktree", f"{SPECS}/a.md")
    changed(clone)


def own_commit(clone: Path) -> None:
    (clone / "code.py").write_text("mine\n")
    git(clone, "commit", "-q", "-am", "mine")


def detached(clone: Path) -> None:
    git(clone, "checkout", "-q", "--detach")


def other_branch(clone: Path) -> None:
    git(clone, "checkout", "-q", "-b", "mine")


def follows_another(clone: Path) -> None:
    git(clone, "config", "branch.main.merge", "refs/heads/other")


def index_in_use(clone: Path) -> None:
    (clone / ".git" / "index.lock").touch()


def picking(clone: Path) -> None:
    (clone / ".git" / "CHERRY_PICK_HEAD").write_text(git(clone, "rev-parse", "HEAD"))


@pytest.mark.parametrize(
    "harm",
    [
        changed, staged, staged_the_same, deleted, untracked_in_the_way, ignored_in_the_way, assumed_unchanged,
        skipped_but_there, own_commit, detached, other_branch, follows_another, index_in_use, picking,
    ],
)  # fmt: skip
def test_nothing_happens_when_something_is_in_the_way(clone: Path, harm) -> None:  # type: ignore[no-untyped-def]
    branch, tip = published(clone, {"a.md": b"done\n", "new.log": b"new\n", "plain.md": b"plain\n"})
    harm(clone)
    before = state(clone)
    assert branch.catch_up(tip) is False
    assert state(clone) == before
