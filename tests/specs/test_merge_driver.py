"""`dibs specs merge-driver`, installed by `dibs specs init` and called by real git in real clones."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Run
from cli.conftest import dibs as dibs  # the fixture
from dibs.specs import driver
from dibs.specs.frontmatter import edit, read
from waiting import PATIENCE

BASE = b"---\nstatus: pending  # now\npriority: 5\nlabels: [a]\n---\n# Title\n\nfirst\n\nsecond\n\nthird\n"
SPEC = ".dibs/specs/one.md"
CLAIMED = {"status": "in_progress", "started_by": "ann", "started_at": "2026-11-16T09:00:00Z"}
DONE = {"status": "completed", "completed_at": "2026-11-16T10:00:00Z"}


@pytest.fixture(autouse=True)
def own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """git as it is without anybody's settings, and no dibs on the PATH."""
    settings = tmp_path / "gitconfig"
    settings.write_text(
        "[user]\nname = t\nemail = t@example.com\n[init]\ndefaultBranch = main\n"
        "[pull]\nrebase = false\n[advice]\ndetachedHead = false\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("git", "sh", "grep"):
        found = next(p for p in map(Path, os.environ["PATH"].split(":")) if (p / name).is_file())
        (programs / name).symlink_to(found / name)
    monkeypatch.setenv("PATH", str(programs))


class Clone:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.spec = path / SPEC

    def git(self, *words: str, code: int = 0) -> str:
        done = subprocess.run(["git", *words], cwd=self.path, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == code, f"git {words}: {done}"
        return done.stdout

    def commit(self, data: bytes) -> None:
        self.spec.write_bytes(data)
        self.git("add", "-A")
        self.git("commit", "-qm", "x")

    def edit(self, **fields: Any) -> None:
        self.commit(edit(self.spec.read_bytes(), fields))

    @property
    def fields(self) -> dict[str, Any]:
        return read(self.spec.read_bytes())


Pair = tuple[Clone, Clone]


@pytest.fixture
def clones(dibs: Run, tmp_path: Path) -> Callable[..., Pair]:
    """Two clones of one remote with one spec; `ready`: how many have run `dibs specs init`."""

    def make(ready: int = 2) -> Pair:
        subprocess.run(["git", "init", "-q", "--bare", tmp_path / "remote"], check=True)
        both = []
        for number, name in enumerate(("ann", "bob o'neil 100%")):
            subprocess.run(
                ["git", "clone", "-q", tmp_path / "remote", tmp_path / name], check=True, capture_output=True
            )
            clone = Clone(tmp_path / name)
            if number < ready:
                assert dibs("specs", "init", "--json", cwd=clone.path).json["merge_driver"] is True
            if number == 0:
                clone.commit(BASE)
                clone.git("push", "-q", "origin", "main")
            both.append(clone)
        return both[0], both[1]

    return make


def published(clone: Clone) -> None:
    clone.git("push", "-q", "origin", "main")


@pytest.mark.parametrize("way", ["--no-rebase", "--rebase"])
def test_fields_and_text_of_both_clones_come_together(clones: Callable[..., Pair], way: str) -> None:
    ann, bob = clones()
    ann.edit(**CLAIMED, labels=["a", "b"])
    published(ann)
    bob.edit(labels=["a", "c"], priority=9)
    bob.commit(bob.spec.read_bytes().replace(b"third", b"THIRD"))
    bob.git("pull", "-q", way)
    assert bob.fields == CLAIMED | {"priority": 9, "labels": bob.fields["labels"]}
    assert sorted(bob.fields["labels"]) == ["a", "b", "c"]
    assert bob.spec.read_bytes().endswith(b"first\n\nsecond\n\nTHIRD\n")
    assert b"in_progress  # now\n" in bob.spec.read_bytes()
    assert bob.git("status", "--porcelain") == ""


@pytest.mark.parametrize("way", ["--no-rebase", "--rebase"])
def test_two_who_complete_the_same_spec_merge_cleanly(clones: Callable[..., Pair], way: str) -> None:
    ann, bob = clones()
    ann.edit(**CLAIMED)
    ann.edit(**DONE)
    published(ann)
    bob.edit(**CLAIMED | {"started_by": "bob"})
    bob.edit(**DONE | {"completed_at": "2026-11-16T09:59:00Z"})
    before = bob.fields
    bob.git("pull", "-q", way)
    assert bob.fields == before
    assert bob.git("status", "--porcelain") == ""
    published(bob)
    ann.git("pull", "-q")
    assert ann.spec.read_bytes() == bob.spec.read_bytes()


def test_a_real_conflict_stays_one(clones: Callable[..., Pair], dibs: Run) -> None:
    ann, bob = clones()
    ann.edit(priority=1, status="completed")
    published(ann)
    bob.edit(priority=2)
    bob.git("pull", "-q", "--no-rebase", code=1)
    marks = b"<<<<<<< ours\npriority: 2\n=======\npriority: 1\n>>>>>>> theirs\n"
    assert bob.spec.read_bytes() == edit(BASE, {"status": "completed"}).replace(b"priority: 5\n", marks)
    assert bob.git("status", "--porcelain") == f"UU {SPEC}\n"
    listed = dibs("specs", "list", cwd=bob.path)
    assert f"{SPEC}:3: a merge conflict is not resolved" in listed.err


def test_a_conflict_in_the_text_stays_one(clones: Callable[..., Pair]) -> None:
    ann, bob = clones()
    ann.commit(BASE.replace(b"second", b"ann's"))
    published(ann)
    bob.commit(edit(BASE, CLAIMED).replace(b"second", b"bob's"))
    bob.git("pull", "-q", "--no-rebase", code=1)
    assert b"<<<<<<< ours\nbob's\n=======\nann's\n>>>>>>> theirs\n" in bob.spec.read_bytes()
    assert bob.fields == read(edit(BASE, CLAIMED))


def test_a_clone_without_the_driver_merges_as_text(clones: Callable[..., Pair]) -> None:
    ann, bob = clones(ready=1)
    ann.edit(labels=["a", "b"])
    published(ann)
    bob.edit(labels=["a", "c"])
    bob.git("pull", "-q", "--no-rebase", code=1)
    text = bob.spec.read_bytes()
    assert b"<<<<<<<" in text
    assert b"labels: [a, b]\n" in text
    assert b"labels: [a, c]\n" in text


BROKEN = {
    "gone": "/nowhere/python -P -m dibs",
    "without dibs": f"{shlex.quote(sys.executable)} -I -S -m dibs",  # exit code 1, as for a conflict
}


@pytest.mark.parametrize("here", BROKEN.values(), ids=BROKEN.keys())
def test_a_driver_that_cannot_be_started_loses_nothing(clones: Callable[..., Pair], here: str) -> None:
    ann, bob = clones()
    key = f"merge.{driver.NAME}.driver"
    command = bob.git("config", key).strip()
    start = f"m {shlex.quote(sys.executable)} -P -m dibs;"
    assert start in command
    bob.git("config", key, command.replace(start, f"m {here};"))
    ann.edit(labels=["a", "b"])
    published(ann)
    bob.edit(labels=["a", "c"])
    bob.git("pull", "-q", "--no-rebase", code=1)
    assert b"<<<<<<< ours\nlabels: [a, c]\n=======\nlabels: [a, b]\n>>>>>>> theirs\n" in bob.spec.read_bytes()
    bob.commit(BASE)
    published(bob)
    ann.git("pull", "-q")
    ann.commit(BASE.replace(b"third", b"ann's"))
    published(ann)
    bob.edit(priority=7)
    bob.git("pull", "-q", "--no-rebase")
    assert bob.spec.read_bytes() == edit(BASE, {"priority": 7}).replace(b"third", b"ann's")


def test_the_dibs_on_the_path_is_taken_when_the_first_is_gone(clones: Callable[..., Pair], tmp_path: Path) -> None:
    ann, bob = clones()
    key = f"merge.{driver.NAME}.driver"
    bob.git("config", key, bob.git("config", key).strip().replace(shlex.quote(sys.executable), "/nowhere/python"))
    (tmp_path / "bin" / "dibs").symlink_to(Path(sys.executable).with_name("dibs"))
    ann.edit(labels=["a", "b"])
    published(ann)
    bob.edit(labels=["a", "c"])
    bob.git("pull", "-q", "--no-rebase")
    assert sorted(bob.fields["labels"]) == ["a", "b", "c"]


def test_any_path_of_python_will_do(
    clones: Callable[..., Pair], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob = clones()
    program = tmp_path / 'it\'s a "100%O" $HOME; path' / "python"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    assert driver.install(str(bob.spec.parent))
    ann.edit(labels=["a", "b"])
    published(ann)
    bob.edit(labels=["a", "c"])
    bob.git("pull", "-q", "--no-rebase")
    assert sorted(bob.fields["labels"]) == ["a", "b", "c"]


def test_no_module_of_the_repository_is_run(clones: Callable[..., Pair]) -> None:
    ann, bob = clones()
    for name in ("dibs.py", "json.py", "argparse.py"):
        (bob.path / name).write_text("open('was-run', 'w')\nraise SystemExit(0)\n")
    ann.edit(labels=["a", "b"])
    published(ann)
    bob.edit(labels=["a", "c"])
    bob.git("pull", "-q", "--no-rebase")
    assert not (bob.path / "was-run").exists()
    assert sorted(bob.fields["labels"]) == ["a", "b", "c"]


def test_init_twice_is_as_once_and_other_lines_stay(dibs: Run, tmp_path: Path) -> None:
    place = tmp_path / "r"
    folder = place / ".dibs" / "specs"
    folder.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", place], check=True)
    (place / ".git" / "info" / "attributes").write_text("*.md merge=union\n")  # wins, whatever the folder says
    own = b"# mine\r\n*.png binary"
    (folder / ".gitattributes").write_bytes(own)
    seen = []
    for _ in range(2):
        assert dibs("specs", "init", cwd=place).code == 0
        seen.append([(folder / ".gitattributes").read_bytes(), (place / ".git" / "config").read_bytes()])
    assert seen[0] == seen[1]
    assert seen[0][0] == own + b"\n*.md merge=dibs-specs\n"
    assert dibs("specs", "list", cwd=place).out == "no specs\n"


def test_what_git_already_knows_is_not_said_again(dibs: Run, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path / "r"], check=True)
    (tmp_path / "r" / ".gitattributes").write_text(".dibs/specs/*.md merge=dibs-specs\n")
    assert dibs("specs", "init", "--json", cwd=tmp_path / "r").json == {"folder": ".dibs/specs", "merge_driver": True}
    assert not (tmp_path / "r" / ".dibs" / "specs" / ".gitattributes").exists()


def test_outside_of_a_repository_it_says_so_and_goes_on(dibs: Run, tmp_path: Path) -> None:
    result = dibs("specs", "init")
    assert result.code == 0
    assert "no git repository" in result.out
    assert os.listdir(tmp_path / ".dibs" / "specs") == []
    assert dibs("specs", "init", "--json").json == {"folder": ".dibs/specs", "merge_driver": False}


def test_locks_are_ignored_and_specs_are_not(dibs: Run, tmp_path: Path) -> None:
    clone = Clone(tmp_path / "r")
    subprocess.run(["git", "init", "-q", clone.path], check=True)
    assert dibs("specs", "init", cwd=clone.path).err == ""
    (clone.path / ".dibs" / ".locks").mkdir()
    (clone.path / ".dibs" / ".locks" / "one.pid").write_text("{}")
    (clone.path / ".dibs" / "queues").mkdir()
    (clone.path / ".dibs" / "queues" / "x").write_text("")
    (clone.path / ".dibs" / "specs" / "archive").mkdir()
    for name in ("one.md", "archive/old.md"):
        (clone.path / ".dibs" / "specs" / name).write_bytes(BASE)
    shown = clone.git("status", "--porcelain", "-uall").splitlines()
    names = [".gitignore", "specs/.gitattributes", "specs/archive/old.md", "specs/one.md"]
    assert shown == [f"?? .dibs/{name}" for name in names]
    (clone.path / ".gitignore").write_text(".dibs/\n")
    assert "git ignores" in dibs("specs", "init", cwd=clone.path).err


def test_the_command_by_itself(dibs: Run, tmp_path: Path) -> None:
    names = ["base", "ours", "theirs"]
    for name, data in zip(names, (BASE, edit(BASE, CLAIMED), edit(BASE, CLAIMED | DONE)), strict=True):
        (tmp_path / name).write_bytes(data)
    result = dibs("specs", "merge-driver", *names, "some/one.md", "--json")
    assert (result.code, result.json) == (0, {"path": "some/one.md", "conflicts": False})
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
    (tmp_path / "ours").write_bytes(edit(BASE, {"priority": 1}))
    (tmp_path / "theirs").write_bytes(edit(BASE, {"priority": 2}))
    assert dibs("specs", "merge-driver", *names, "some/one.md").code == 1
    assert dibs("specs", "merge-driver", "base").code == 2
    assert dibs("specs", "merge-driver", "base", "nowhere", "theirs", "x").code == 2
    assert sorted(os.listdir(tmp_path)) == sorted(["bin", "gitconfig", *names])
