"""A bare remote and clones of it, changed and looked at by git itself."""

import os
import subprocess
from pathlib import Path

from dibs.git.branch import Branch
from dibs.git.refs import RefStore
from dibs.git.repository import Repository

SPECS = ".dibs/specs"


def git(folder: Path, *args: str, input: str | None = None, ok: bool = True) -> str:  # noqa: A002
    env = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "core.hooksPath=/dev/null"]
    command = ["git", *who, "-C", str(folder), *args]
    done = subprocess.run(command, input=input, capture_output=True, text=True, env=env, check=False)
    assert not ok or done.returncode == 0, (args, done.stderr)
    return done.stdout


class Team:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.remote = folder / "remote.git"
        git(folder, "init", "-q", "--bare", str(self.remote))

    def start(self) -> None:
        first = self.clone("first")
        (first / SPECS).mkdir(parents=True)
        for name in ("a", "b", "c"):
            (first / SPECS / f"{name}.md").write_text(f"---\nstatus: pending\n---\n{name}\n")
        (first / "code.py").write_text("one\n")
        (first / ".gitignore").write_text("*.log\n")
        self.commit(first, "start")
        git(first, "push", "-q", "-u", "origin", "main")

    def clone(self, name: str) -> Path:
        git(self.folder, "clone", "-q", str(self.remote), name)
        return self.folder / name

    def commit(self, clone: Path, message: str) -> str:
        git(clone, "add", "-A")
        git(clone, "commit", "-q", "-m", message)
        return git(clone, "rev-parse", "HEAD").strip()

    def hook(self, name: str, script: str) -> Path:
        return hook(self.remote, name, script)

    def refs(self) -> dict[str, str]:
        lines = git(self.remote, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        return dict(line.split(" ") for line in lines)


def hook(git_dir: Path, name: str, script: str) -> Path:
    path = git_dir / "hooks" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def store_of(clone: Path, **settings: float) -> RefStore:
    return RefStore(Repository.find(str(clone), **settings))  # type: ignore[arg-type]


def branch_of(clone: Path, **settings: float) -> Branch:
    return Branch(Repository.find(str(clone / SPECS), **settings))  # type: ignore[arg-type]


def state(clone: Path) -> dict[str, object]:
    """Everything in a clone that is the user's, but for the remote-tracking refs and the objects."""
    git_dir = Path(git(clone, "rev-parse", "--absolute-git-dir").strip())
    kept = [path for path in sorted(git_dir.rglob("*")) if path.is_file() and not _ours(path.relative_to(git_dir))]
    found: dict[str, object] = {str(path): path.read_bytes() for path in kept}
    found["status"] = git(clone, "status", "--porcelain=v2", "--branch", "--ignored", "-z")
    found["refs"] = [line for line in git(clone, "for-each-ref").splitlines() if "refs/remotes/" not in line]
    for path in sorted(clone.rglob("*")):
        if path.is_file() and ".git" not in path.relative_to(clone).parts:
            found[str(path)] = (path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns)
    # How far behind the remote-tracking ref it is may change: that one is not the user's.
    found["status"] = "\0".join(line for line in str(found["status"]).split("\0") if not line.startswith("# branch.ab"))
    return found


def _ours(path: Path) -> bool:
    top = path.parts[0]
    return top in ("objects", "dibs", "packed-refs") or (
        path.parts[:2] in (("refs", "remotes"), ("logs", "refs"))
        and (top == "refs" or path.parts[:3] == ("logs", "refs", "remotes"))
    )
