"""The git repository that a folder lies in, its settings, and who commits there.

What git has to say about itself is asked once for each Repository; where HEAD points is asked whenever it matters.
"""

import os
from functools import cached_property
from threading import Lock

from dibs.clock import SYSTEM, Clock
from dibs.errors import BadInput, StorageError
from dibs.git import process
from dibs.git.process import Done
from dibs.redact import redact

TIMEOUT_SECONDS = 60.0


class Repository:
    """Safe for threads. `top` is the work tree, `path` the folder's place in it ("" or "a/b")."""

    def __init__(
        self, top: str, git_dir: str, common_dir: str, path: str, *, sha256: bool, timeout: float, clock: Clock
    ) -> None:
        self.top = top
        self.git_dir = git_dir
        self.common_dir = common_dir
        self.path = path
        self.hash = "sha256" if sha256 else "sha1"
        self.timeout = timeout
        self.clock = clock
        self._lock = Lock()
        self._settings: dict[str, list[tuple[str, str]]] | None = None

    @classmethod
    def find(cls, folder: str, *, timeout: float = TIMEOUT_SECONDS, clock: Clock = SYSTEM) -> "Repository":
        """BadInput when it lies in none, or there is no git. The folder itself need not be there yet."""
        there = os.path.realpath(folder)
        missing: list[str] = []
        while not os.path.isdir(there):
            there, name = os.path.split(there)
            missing.insert(0, name)
        asked = ("--show-toplevel", "--absolute-git-dir", "--git-common-dir", "--show-object-format", "--show-prefix")
        env = process.environment({}, own_ssh=True)
        done = process.run(("rev-parse", *asked), cwd=there, env=env, input=b"", timeout=timeout)
        if done.code:
            if "dubious ownership" in done.err or "unsafe repository" in done.err:
                raise StorageError(f"git refuses the repository of {folder!r}: {done.words()}")
            raise BadInput(
                f"folder {folder!r} is not in the work tree of a git repository ({done.words()}); clone or init one"
            )
        answers = os.fsdecode(done.out).split("\n")
        if len(answers) != len(asked) + 1:
            raise BadInput(f"folder {folder!r} has a line break in its path; dibs cannot use the repository there")
        top, git_dir, common, format_, prefix, _ = answers
        path = "/".join([*(part for part in prefix.split("/") if part), *missing])
        common = os.path.realpath(os.path.join(there, common))
        return cls(top, git_dir, common, path, sha256=format_ == "sha256", timeout=timeout, clock=clock)

    def run(
        self,
        *args: str,
        input: bytes = b"",  # noqa: A002
        ok: tuple[int, ...] = (0,),
        env: dict[str, str] | None = None,
        patient: bool = False,
    ) -> Done:
        """Run git at the top of the work tree. StorageError with git's own words when its exit code is not in `ok`.
        `patient`: however long it takes."""
        whole = env if env is not None else self.environment()
        timeout = None if patient else self.timeout
        done = process.run(args, cwd=self.top, env=whole, input=input, timeout=timeout)
        if done.code not in ok:
            raise StorageError(f"git {redact(args[0])} failed in {self.top!r}: {done.words()}")
        return done

    def ask(self, *args: str) -> str:
        """One line that git answers, or nothing when it says no."""
        done = self.run(*args, ok=(0, 1, 128))
        return "" if done.code else os.fsdecode(done.out).strip("\n")

    def environment(self) -> dict[str, str]:
        return process.environment(self._identity, own_ssh=bool(self.setting("core.sshcommand")))

    def setting(self, name: str) -> str:
        """The last value of a setting, section and name in lower case, or nothing."""
        found = self.settings.get(name)
        return found[-1][1] if found else ""

    @property
    def settings(self) -> dict[str, list[tuple[str, str]]]:
        """Every setting: (scope, value) in the order in which git reads them."""
        with self._lock:
            if self._settings is None:
                env = process.environment({}, own_ssh=True)
                asked = ("config", "--list", "--show-scope", "-z")
                done = process.run(asked, cwd=self.top, env=env, input=b"", timeout=self.timeout)
                if done.code:
                    raise StorageError(f"git cannot read the settings of {self.top!r}: {done.words()}")
                parts = os.fsdecode(done.out).split("\0")
                known: dict[str, list[tuple[str, str]]] = {}
                for scope, pair in zip(parts[::2], parts[1::2], strict=False):
                    name, _, value = pair.partition("\n")
                    known.setdefault(name, []).append((scope, value))
                self._settings = known
            return self._settings

    def forget(self) -> None:
        """Read the settings again when they are next needed."""
        with self._lock:
            self._settings = None

    def remotes(self) -> list[str]:
        return [
            name[len("remote.") : -len(".url")]
            for name in self.settings
            if name.startswith("remote.") and name.endswith(".url")
        ]

    def upstream(self) -> tuple[str, str] | None:
        """(remote, branch) that the current branch follows; of the branch being rebased while that goes on."""
        branch = self.branch() or self._rebased()
        remote = self.setting(f"branch.{branch}.remote")
        merge = self.setting(f"branch.{branch}.merge")
        if not branch or remote in ("", ".") or not merge.startswith("refs/heads/"):
            return None
        return remote, merge.removeprefix("refs/heads/")

    def branch(self) -> str:
        """The branch checked out, born or not; nothing when HEAD is detached."""
        return self.ask("symbolic-ref", "--quiet", "--short", "HEAD")

    def remote(self, wanted: str = "") -> str:
        """The remote to use: `wanted` (a name or URL), else that of the upstream, else origin, else the only one."""
        if wanted:
            return _checked(wanted)
        if upstream := self.upstream():
            return upstream[0]
        known = self.remotes()
        if "origin" in known:
            return "origin"
        if len(known) == 1:
            return known[0]
        if known:
            raise BadInput(f"repository {self.top!r} has several remotes ({', '.join(known)}); say which one to use")
        raise BadInput(f"repository {self.top!r} has no remote to share through; add one: git remote add origin URL")

    @property
    def author(self) -> str:
        """Name and address for commits, as git writes them."""
        who = self._identity
        return f"{who['GIT_AUTHOR_NAME']} <{who['GIT_AUTHOR_EMAIL']}>"

    @cached_property
    def _identity(self) -> dict[str, str]:
        """Who commits; this user and host where git was not told. Set outright, so git never refuses for want of it."""
        from getpass import getuser

        try:
            user = getuser()
        except (KeyError, OSError):  # no entry for this user id
            user = f"uid{os.getuid()}"
        told = os.environ.get
        name = told("GIT_AUTHOR_NAME") or self.setting("author.name") or self.setting("user.name") or user
        email = told("GIT_AUTHOR_EMAIL") or self.setting("author.email") or self.setting("user.email") or told("EMAIL")
        name = _plain(name) or "dibs"
        email = _plain(email or f"{user}@{os.uname().nodename}")
        return {
            "GIT_AUTHOR_NAME": name,
            "GIT_AUTHOR_EMAIL": email,
            "GIT_COMMITTER_NAME": _plain(told("GIT_COMMITTER_NAME") or self.setting("committer.name")) or name,
            "GIT_COMMITTER_EMAIL": _plain(told("GIT_COMMITTER_EMAIL") or self.setting("committer.email")) or email,
        }

    def _rebased(self) -> str:
        for folder in ("rebase-merge", "rebase-apply"):
            try:
                with open(os.path.join(self.git_dir, folder, "head-name"), encoding="utf-8") as file:
                    return file.read().strip().removeprefix("refs/heads/")
            except (OSError, UnicodeDecodeError):
                continue
        return ""


def _plain(text: str) -> str:
    return "".join(char for char in text if char not in "<>\n\0").strip()


def _checked(remote: str) -> str:
    if remote[:1] == "-" or any(char in remote for char in "\n\0"):
        raise BadInput(f"git remote {redact(remote)!r} is not acceptable; give a remote's name or a URL")
    return remote
