"""Finding a repository, and running git in it without harm."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from children import environment
from dibs.errors import BadInput, StorageError
from dibs.git.process import Timeout
from dibs.git.repository import Repository
from dibs.host import process_state
from git.clones import Team, branch_of, git, hook
from waiting import until


def test_where_a_folder_lies(started: Team, tmp_path: Path) -> None:
    clone = started.clone("one")
    found = Repository.find(str(clone / ".dibs" / "specs"))
    assert (found.top, found.git_dir, found.path) == (str(clone), str(clone / ".git"), ".dibs/specs")
    assert Repository.find(str(clone)).path == ""
    assert Repository.find(str(clone / "not" / "there yet")).path == "not/there yet"
    git(clone, "worktree", "add", "-q", str(tmp_path / "side"))
    side = Repository.find(str(tmp_path / "side"))
    assert (side.top, side.common_dir) == (str(tmp_path / "side"), str(clone / ".git"))
    for folder in (tmp_path, clone / ".git", started.remote):
        with pytest.raises(BadInput, match="clone or init one"):
            Repository.find(str(folder))


def test_no_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadInput, match="install git"):
        Repository.find(str(tmp_path))


def test_it_works_inside_a_hook_of_another_repository(started: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = started.clone("one"), started.clone("two")
    before = git(two, "for-each-ref")
    for name, value in {"GIT_DIR": ".git", "GIT_WORK_TREE": ".", "GIT_INDEX_FILE": "index", "GIT_PREFIX": "x/"}.items():
        monkeypatch.setenv(name, str(two / value))
    branch = branch_of(one)
    assert branch.repository.top == str(one)
    new = branch.publish(branch.fetch(), {"a.md": b"x"}, "x")
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name)
    assert git(one, "rev-parse", "origin/main").strip() == new
    assert git(two, "for-each-ref") == before


def test_ssh_and_passwords_never_ask(started: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clone = started.clone("one")
    script = tmp_path / "bin" / "ssh"
    script.parent.mkdir()
    script.write_text('#!/bin/sh\necho "asked: $*" >&2\nexit 255\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:{os.environ['PATH']}")
    git(clone, "remote", "set-url", "origin", "ada@example.invalid:x.git")
    with pytest.raises(StorageError, match=r"asked: -oBatchMode=yes .*ada@example.invalid"):
        branch_of(clone).fetch()
    git(clone, "config", "core.sshCommand", f"{script} -F own")
    with pytest.raises(StorageError, match="asked: -F own"):
        branch_of(clone).fetch()
    monkeypatch.setenv("GIT_SSH_COMMAND", f"{script} -F mine")
    with pytest.raises(StorageError, match="asked: -F mine"):
        branch_of(clone).fetch()


def test_a_git_that_hangs_is_ended_with_all_it_started(started: Team, tmp_path: Path) -> None:
    clone = started.clone("one")
    git(clone, "config", "core.sshCommand", f"echo $$ > {tmp_path}/pid; exec sleep 60; :")
    git(clone, "remote", "set-url", "origin", "ada@example.invalid:x.git")
    with pytest.raises(Timeout, match=r"no answer in 4 s"):
        Repository.find(str(clone), timeout=4.0).run("ls-remote", "origin")
    pid = int((tmp_path / "pid").read_text())
    until(lambda: process_state(pid)[0] in "-ZX")


def test_a_kill_of_the_whole_group_leaves_git_at_work(started: Team, tmp_path: Path) -> None:
    """The push waits in a hook until dibs and its process group are dead, and then goes through."""
    clone = started.clone("one")
    held = f"touch {tmp_path}/waiting; for i in $(seq 999); do [ -e {tmp_path}/go ] && exit 0; sleep 0.2; done; exit 1"
    started.hook("pre-receive", held)
    code = (
        "import sys; from pathlib import Path; from git.clones import branch_of\n"
        "branch = branch_of(Path(sys.argv[1])); branch.publish(branch.fetch(), {'a.md': b'done'}, 'x')"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(clone)], env=environment(), start_new_session=True, stderr=subprocess.DEVNULL
    )
    until(lambda: (tmp_path / "waiting").exists())
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    (tmp_path / "go").touch()
    until(lambda: git(started.remote, "show", "main:.dibs/specs/a.md"), equals="done")


def test_settings_of_this_user_hold_and_hooks_do_not_run(started: Team, plain_git: Path, tmp_path: Path) -> None:
    clone = started.clone("one")
    hooks = tmp_path / "hooks-of-the-user"
    hook(hooks, "pre-push", f"touch {tmp_path}/ran; exit 1")
    plain_git.write_text(f"[core]\n\thooksPath = {hooks}/hooks\n[user]\n\tname = Global\n\temail = g@example.com\n")
    branch = branch_of(clone)
    new = branch.publish(branch.fetch(), {"a.md": b"x"}, "x")
    assert git(started.remote, "log", "-1", "--format=%an", new) == "Global\n"
    assert not (tmp_path / "ran").exists()
