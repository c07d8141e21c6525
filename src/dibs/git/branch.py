"""A remote's branch as the truth, changed by commits that never pass through the user's work tree, index or branches.

A commit is put together from objects alone and pushed from exactly the tip it was made for. In the user's repository
that leaves a few objects and the remote-tracking ref. Whether HEAD is detached, a merge or a rebase is under way or the
index is full of changes makes no difference.
"""

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from dibs.errors import BadInput, StorageError
from dibs.git import objects
from dibs.git.process import Done
from dibs.git.pushing import Update, Verdict, push
from dibs.git.repository import Repository
from dibs.git.trees import Entries, change
from dibs.redact import redact
from dibs.stores.store import Changed, Unsure

TRIES = 8
PAUSE_SECONDS = 0.02


class File(NamedTuple):
    mode: str
    id: str


class Unanswered(Unsure):
    """The answer to a push was lost; `commit` is what may have been written."""

    def __init__(self, message: str, commit: str) -> None:
        super().__init__(message)
        self.commit = commit


class Branch:
    """Safe for threads and for any number of processes in one clone. `folder`: from the top of the work tree."""

    def __init__(self, repository: Repository, remote: str = "", name: str = "", folder: str | None = None) -> None:
        self.repository = repository
        self.remote = repository.remote(remote)
        self.name = name or _default(repository, self.remote)
        self.folder = repository.path if folder is None else folder.strip("/")
        if repository.run("check-ref-format", f"refs/heads/{self.name}", ok=(0, 1)).code:
            raise BadInput(f"{self.name!r} cannot be the name of a git branch")
        if "\n" in self.folder:
            raise BadInput(f"folder {self.folder!r} has a line break in its name; dibs cannot share it through git")

    @property
    def ref(self) -> str:
        return f"refs/heads/{self.name}"

    @property
    def tracking(self) -> str:
        """The ref here that remembers the remote's branch."""
        if self.remote in self.repository.remotes():
            return f"refs/remotes/{self.remote}/{self.name}"
        from hashlib import sha256

        return f"refs/dibs/remotes/{sha256(os.fsencode(self.remote)).hexdigest()[:16]}/{self.name}"

    def fetch(self) -> str | None:
        """The tip on the remote, its objects here; None when the branch is not there yet."""
        command = ["fetch", "--quiet", "--no-tags", "--no-prune", "--no-prune-tags", "--no-write-fetch-head"]
        command += ["--no-auto-maintenance", "--no-recurse-submodules", "--refmap=", "--", self.remote]
        words = ""
        for tried in range(TRIES):
            done = self.repository.run(*command, f"+{self.ref}:{self.tracking}", ok=(0, 1, 128))
            if not done.code:
                return self.repository.run("rev-parse", "--verify", self.tracking).out.decode().strip()
            if "couldn't find remote ref" in done.err:
                return None
            words = done.words()
            # Another process of this clone, dibs or not, is writing the same ref.
            if not ("cannot lock" in done.err or ".lock'" in done.err or "shallow file has changed" in done.err):
                break
            self.repository.clock.sleep(min(0.5, PAUSE_SECONDS * 2**tried))
        raise StorageError(f"cannot fetch {self.name!r} from git remote {self._shown}: {words}")

    def files(self, tip: str, *, deep: bool = False) -> dict[str, File]:
        """The files in the folder at `tip` by name; with `deep` those in folders below it too, as "folder/name"."""
        where = [f"{self.folder}/"] if self.folder else []
        asked = ["ls-tree", "-z", "--full-tree", *(["-r"] if deep else []), tip, "--", *where]
        found: dict[str, File] = {}
        for line in self.repository.run(*asked).out.split(b"\0")[:-1]:
            about, _, path = line.partition(b"\t")
            mode, kind, id = about.decode().split(" ")  # noqa: A001
            if kind == "blob":
                found[os.fsdecode(path)[len(self.folder) + 1 if self.folder else 0 :]] = File(mode, id)
        return found

    def read(self, ids: Iterable[str]) -> dict[str, bytes]:
        """Content by id. StorageError when one is missing."""
        wanted = list(dict.fromkeys(ids))
        found = self._batch(wanted)
        missing = [id for id, one in zip(wanted, found, strict=True) if one is None]  # noqa: A001
        if missing:
            raise StorageError(f"git object {missing[0]} is missing in {self.repository.top!r}; `git fsck` tells more")
        return {one[0]: one[2] for one in found if one is not None}

    def publish(self, tip: str | None, changes: Mapping[str, bytes | None], message: str) -> str:
        """One commit on top of `tip` (None: the first of the branch) that writes or, for None, deletes files of the
        folder; the new tip. Nothing happens on the remote but this, or nothing at all:
        Changed    the branch is no longer at `tip`
        Unanswered no answer came; `holds` of the commit that it names settles it
        """
        new = self._commit(tip, changes, message)
        words = ""
        for tried in range(TRIES):
            try:
                outcome = push(self._run_push, self.remote, [Update(self.ref, tip or "", new)])
            except Unsure as error:
                raise Unanswered(str(error), new) from None
            if outcome.verdict is Verdict.DONE:
                return new
            if outcome.verdict is Verdict.STALE or self._tip() != tip:
                raise Changed(self.name)
            words = outcome.words
            if not outcome.passing:
                break
            self.repository.clock.sleep(min(0.5, PAUSE_SECONDS * 2**tried))
        raise StorageError(f"git remote {self._shown} refuses the commit to {self.name!r}, it was not written: {words}")

    def holds(self, commit: str) -> bool:
        """Whether the remote's branch has this commit now."""
        tip = self.fetch()
        return tip is not None and not self.repository.run("merge-base", "--is-ancestor", commit, tip, ok=(0, 1)).code

    def catch_up(self, tip: str) -> bool:
        """Bring the user's checked-out branch to `tip` if nothing of theirs stands in the way; else change nothing."""
        from dibs.git.catching import catch_up

        return catch_up(self.repository, self.remote, self.name, tip)

    @property
    def _shown(self) -> str:
        return repr(redact(self.remote))

    def _commit(self, tip: str | None, changes: Mapping[str, bytes | None], message: str) -> str:
        repository = self.repository
        prefix = f"{self.folder}/" if self.folder else ""
        files = {os.fsencode(prefix + name): data for name, data in changes.items()}
        whole, new = change(lambda folders: self._folders(tip, folders), files, repository.hash)
        parents = [tip] if tip else []
        text = message.strip().encode() + b"\n"
        one = objects.commit(whole, parents, repository.author, repository.clock.wall(), text, repository.hash)
        repository.run("unpack-objects", "-q", input=objects.pack([*new, one], repository.hash))
        return one.id

    def _folders(self, tip: str | None, folders: list[bytes]) -> dict[bytes, Entries]:
        if tip is None:
            return {}
        found = self._batch([f"{tip}:{os.fsdecode(path)}" for path in folders])
        hash_ = self.repository.hash
        return {
            path: objects.read_tree(one[2], hash_)
            for path, one in zip(folders, found, strict=True)
            if one is not None and one[1] == "tree"
        }

    def _batch(self, names: list[str]) -> list[tuple[str, str, bytes] | None]:
        if not names:
            return []
        asked = os.fsencode("\n".join([*names, ""]))
        return objects.read_batch(self.repository.run("cat-file", "--batch", input=asked).out)

    def _run_push(self, *args: str, ok: tuple[int, ...]) -> Done:
        mirror = ("-c", f"remote.{self.remote}.mirror=false") if self.remote in self.repository.remotes() else ()
        return self.repository.run(*mirror, *args, ok=ok)

    def _tip(self) -> str | None:
        out = self.repository.run("ls-remote", "--quiet", "--", self.remote, self.ref).out.decode(errors="replace")
        return next((line[: line.index("\t")] for line in out.splitlines() if line.endswith(f"\t{self.ref}")), None)


def _default(repository: Repository, remote: str) -> str:
    """The branch that the current one follows on this remote, else the remote's own default, else the current one."""
    upstream = repository.upstream()
    if upstream and upstream[0] == remote:
        return upstream[1]
    known = repository.ask("symbolic-ref", "--quiet", f"refs/remotes/{remote}/HEAD")
    if known.startswith(f"refs/remotes/{remote}/"):
        return known.removeprefix(f"refs/remotes/{remote}/")
    out = repository.run("ls-remote", "--quiet", "--symref", "--", remote, "HEAD").out.decode(errors="replace")
    for line in out.splitlines():
        if line.startswith("ref: refs/heads/") and line.endswith("\tHEAD"):
            return line.removeprefix("ref: refs/heads/").removesuffix("\tHEAD")
    return repository.branch() or repository.setting("init.defaultbranch") or "main"
