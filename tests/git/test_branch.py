"""Commits to the remote's branch that pass by the user's work."""

import os
from pathlib import Path

import pytest

from dibs.errors import BadInput, StorageError
from dibs.git.branch import Branch, Unanswered
from dibs.git.repository import Repository
from dibs.stores.store import Changed, Unsure
from git.clones import SPECS, Team, branch_of, git, hook, state

A = f"{SPECS}/a.md"


def shown(team: Team, path: str = A) -> str:
    return git(team.remote, "show", f"main:{path}")


def test_a_published_file_is_in_the_branch_and_all_else_is_as_it_was(started: Team) -> None:
    clone = started.clone("one")
    (clone / "run.sh").write_text("x")
    (clone / SPECS / "b.md").chmod(0o755)
    (clone / "link").symlink_to("code.py")
    (clone / ".dibs.x").write_text("sorts between .dibs and .dibs/")
    started.commit(clone, "more")
    git(clone, "push", "-q")
    branch = branch_of(clone)
    tip = branch.fetch()
    assert tip is not None
    before = git(started.remote, "ls-tree", "-r", "main").splitlines()
    files = branch.files(tip)
    assert set(files) == {"a.md", "b.md", "c.md"} and files["b.md"].mode == "100755"
    assert branch.read([files["a.md"].id])[files["a.md"].id] == b"---\nstatus: pending\n---\na\n"
    new = branch.publish(tip, {"b.md": b"new\r\n", "c.md": None, "old/d.md": b"d"}, "specs: one\n\nmore")
    assert git(started.remote, "rev-parse", "main").strip() == new
    assert git(started.remote, "rev-list", "--parents", "-1", new).split() == [new, tip]
    assert git(started.remote, "log", "-1", "--format=%B", new).strip() == "specs: one\n\nmore"
    git(started.remote, "fsck", "--strict", "--no-dangling")
    after = git(started.remote, "ls-tree", "-r", "main").splitlines()
    assert {line.split("\t")[1] for line in set(before) ^ set(after)} == {
        f"{SPECS}/b.md",
        f"{SPECS}/c.md",
        f"{SPECS}/old/d.md",
    }
    assert branch.files(new)["b.md"].mode == "100755"
    assert set(branch.files(new, deep=True)) == {"a.md", "b.md", "old/d.md"}
    assert shown(started, f"{SPECS}/b.md").encode() in (b"new\r\n", b"new\n")
    newer = branch.publish(new, {"a.md": None, "b.md": None, "old/d.md": None}, "none left")
    assert git(started.remote, "ls-tree", "-r", "--name-only", newer).split() == [
        ".dibs.x",
        ".gitignore",
        "code.py",
        "link",
        "run.sh",
    ]


def test_who_comes_second_is_told_and_nothing_of_theirs_is_there(started: Team) -> None:
    one, two = branch_of(started.clone("one")), branch_of(started.clone("two"))
    tip = one.fetch()
    assert two.fetch() == tip
    new = one.publish(tip, {"a.md": b"one"}, "one")
    with pytest.raises(Changed):
        two.publish(tip, {"b.md": b"two"}, "two")
    assert started.refs()["refs/heads/main"] == new
    assert two.fetch() == new
    two.publish(new, {"b.md": b"two"}, "two")
    assert (shown(started), shown(started, f"{SPECS}/b.md")) == ("one", "two")


def test_a_branch_that_was_rewound_is_not_brought_back(started: Team) -> None:
    clone = started.clone("one")
    branch = branch_of(clone)
    first = branch.fetch()
    second = branch.publish(first, {"a.md": b"secret"}, "oops")
    git(started.remote, "update-ref", "refs/heads/main", str(first))
    with pytest.raises(Changed):
        branch.publish(second, {"b.md": b"x"}, "on top")
    assert started.refs()["refs/heads/main"] == first


@pytest.mark.parametrize("name", ["pre-receive", "update"])
def test_a_refusing_remote_is_quoted(started: Team, name: str) -> None:
    branch = branch_of(started.clone("one"))
    tip = branch.fetch()
    started.hook(name, "echo main is protected, ask Grace >&2; exit 1")
    with pytest.raises(StorageError, match="ask Grace") as raised:
        branch.publish(tip, {"a.md": b"x"}, "x")
    assert not isinstance(raised.value, Unsure)
    assert started.refs()["refs/heads/main"] == tip


def test_lost_answers_can_be_settled(started: Team) -> None:
    branch = branch_of(started.clone("one"))
    tip = branch.fetch()
    before = started.hook("pre-receive", "kill -9 $PPID")
    with pytest.raises(Unanswered) as raised:
        branch.publish(tip, {"a.md": b"x"}, "x")
    assert not branch.holds(raised.value.commit)
    before.unlink()
    started.hook("reference-transaction", '[ "$1" = committed ] && kill -9 $PPID; exit 0')
    with pytest.raises(Unanswered) as raised:
        branch.publish(tip, {"a.md": b"y"}, "y")
    assert branch.holds(raised.value.commit)
    assert shown(started) == "y"


def test_an_empty_remote_gets_its_first_commit(team: Team) -> None:
    one, two = team.clone("one"), team.clone("two")
    git(one, "symbolic-ref", "HEAD", "refs/heads/trunk")
    branch = Branch(Repository.find(str(one / SPECS)))
    assert (branch.name, branch.folder, branch.fetch()) == ("trunk", SPECS, None)
    new = branch.publish(None, {"a.md": b"first"}, "first")
    other = Branch(Repository.find(str(two)), name="trunk", folder=SPECS)
    with pytest.raises(Changed):
        other.publish(None, {"a.md": b"second"}, "second")
    assert team.refs() == {"refs/heads/trunk": new}
    assert set(other.files(str(other.fetch()))) == {"a.md"}


def test_which_branch(started: Team) -> None:
    clone = started.clone("one")
    git(clone, "push", "-q", "origin", "main:other", "main:left/right")
    git(clone, "checkout", "-q", "-b", "local", "--track", "origin/other")
    assert branch_of(clone).name == "other"
    git(clone, "checkout", "-q", "--detach")
    assert branch_of(clone).name == "main"
    git(clone, "checkout", "-q", "-b", "follows-local", "--track", "local")
    assert branch_of(clone).name == "main"
    git(clone, "symbolic-ref", "-d", "refs/remotes/origin/HEAD")
    git(started.remote, "symbolic-ref", "HEAD", "refs/heads/left/right")
    assert branch_of(clone).name == "left/right"
    with pytest.raises(BadInput, match="cannot be the name"):
        Branch(Repository.find(str(clone)), name="a..b")
    by_url = Branch(Repository.find(str(clone / SPECS)), str(started.remote), "main")
    by_url.publish(by_url.fetch(), {"a.md": b"by url"}, "x")
    assert shown(started) == "by url"


@pytest.mark.parametrize("name", ["../x.md", "a/../../x", ".git/config", "", "a//b", "x\ny"])
def test_no_path_leaves_the_folder(started: Team, name: str) -> None:
    branch = branch_of(started.clone("one"))
    with pytest.raises(BadInput):
        branch.publish(branch.fetch(), {name: b"x"}, "x")


def test_links_and_folders_are_not_written_over(started: Team) -> None:
    clone = started.clone("one")
    (clone / SPECS / "link.md").symlink_to("/etc/passwd")
    (clone / SPECS / "folder").mkdir()
    (clone / SPECS / "folder" / "x").write_text("x")
    started.commit(clone, "links")
    git(clone, "push", "-q")
    branch = branch_of(clone)
    tip = str(branch.fetch())
    assert branch.files(tip)["link.md"].mode == "120000"
    for name in ("link.md", "folder", "a.md/below"):
        with pytest.raises(BadInput):
            branch.publish(tip, {name: b"x"}, "x")


def prepared(team: Team, way: str) -> Path:
    """A clone in which the user is in the middle of something."""
    clone = team.clone("one")
    (clone / "code.py").write_text("theirs\n")
    team.commit(clone, "theirs")
    git(clone, "push", "-q", "origin", "HEAD:refs/heads/theirs")
    git(clone, "reset", "-q", "--hard", "HEAD~1")
    (clone / "code.py").write_text("ours\n")
    team.commit(clone, "ours")
    if way == "rebase":
        git(clone, "rebase", "origin/theirs", ok=False)
        assert (clone / ".git" / "rebase-merge").is_dir()
    elif way == "merge":
        git(clone, "merge", "origin/theirs", ok=False)
        assert (clone / ".git" / "MERGE_HEAD").exists()
    elif way == "detached":
        git(clone, "checkout", "-q", "--detach")
    elif way == "worktree":
        git(clone, "worktree", "add", "-q", "--track", "-b", "side", str(team.folder / "side"), "origin/main")
        clone = team.folder / "side"
    (clone / SPECS / "b.md").write_text("changed\n")
    (clone / "staged").write_text("staged\n")
    (clone / "untracked").write_text("untracked\n")
    (clone / "x.log").write_text("ignored\n")
    git(clone, "add", "staged")
    return clone


@pytest.mark.parametrize("way", ["dirty", "rebase", "merge", "detached", "worktree"])
def test_the_users_work_is_not_touched(started: Team, way: str) -> None:
    clone = prepared(started, way)
    git_dir = Path(git(clone, "rev-parse", "--git-common-dir").strip())
    git_dir = git_dir if git_dir.is_absolute() else clone / git_dir
    for name in ("pre-push", "pre-commit", "commit-msg", "reference-transaction", "post-merge", "post-checkout"):
        hook(git_dir, name, f"touch {started.folder}/ran-{name}; exit 1")
    for setting in ("commit.gpgsign", "push.gpgsign", "push.followTags", "fetch.prune", "fetch.pruneTags"):
        git(clone, "config", setting, "true")
    git(clone, "config", "core.autocrlf", "true")
    git(clone, "config", "remote.origin.mirror", "true")
    git(clone, "tag", "-a", "-m", "mine", "mine")
    git(clone, "update-ref", "refs/remotes/origin/gone", "HEAD")
    before, refs = state(clone), started.refs()
    branch = branch_of(clone)
    assert (branch.name, branch.folder) == ("main", SPECS)
    new = branch.publish(branch.fetch(), {"b.md": b"published\n", "new.md": b"new\n"}, "specs")
    if way != "worktree":
        assert branch.catch_up(new) is False
    assert state(clone) == before
    assert started.refs() == refs | {"refs/heads/main": new}
    assert git(clone, "rev-parse", "origin/main", "origin/gone").split()[0] == new
    assert list(started.folder.glob("ran-*")) == []
    assert shown(started, f"{SPECS}/b.md") == "published\n"


def test_the_author_is_the_user_or_who_runs_it(started: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    clone = started.clone("one")
    branch = branch_of(clone)
    new = branch.publish(branch.fetch(), {"a.md": b"1"}, "x")
    assert f"@{os.uname().nodename}" in git(started.remote, "log", "-1", "--format=%ae", new)
    git(clone, "config", "user.name", "Grace <H>\tHopper")
    git(clone, "config", "user.email", "grace@example.com")
    new = branch_of(clone).publish(new, {"a.md": b"2"}, "x")
    assert git(started.remote, "log", "-1", "--format=%an %ae %cn", new).split() == [
        "Grace", "H", "Hopper", "grace@example.com", "Grace", "H", "Hopper",
    ]  # fmt: skip
    git(started.remote, "fsck", "--strict", "--no-dangling")
