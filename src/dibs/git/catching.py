"""Fast-forward of the branch that the user has checked out: only where nobody could tell it from `git pull --ff-only`.

It never loses, stages, unstages, stashes or commits anything of the user's. git itself refuses to overwrite what is
changed or untracked; all is looked at here first, so that a refusal leaves no trace, and because git overwrites
what it was told to take for unchanged, or to ignore.
"""

import os

from dibs.errors import StorageError
from dibs.git.repository import Repository

NAMED = 200
_UNDER_WAY = (
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "BISECT_LOG",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
    "index.lock",
)


def catch_up(repository: Repository, remote: str, branch: str, tip: str) -> bool:
    """True when the checked-out branch follows `branch` of `remote` and is at `tip` now."""
    repository.forget()
    if not repository.branch() or repository.upstream() != (remote, branch):
        return False
    if any(os.path.lexists(os.path.join(repository.git_dir, name)) for name in _UNDER_WAY):
        return False
    try:
        head = repository.ask("rev-parse", "--quiet", "--verify", "HEAD^{commit}")
        if not head or head == tip:
            return head == tip
        if repository.run("merge-base", "--is-ancestor", head, tip, ok=(0, 1)).code or not _free(repository, head, tip):
            return False
        how = ("--ff-only", "--no-autostash", "--no-overwrite-ignore", "--no-verify-signatures", "--quiet", "--no-stat")
        return not repository.run("merge", *how, tip, ok=(0, 1, 2, 128), patient=True).code
    except StorageError:
        return False


def _free(repository: Repository, head: str, tip: str) -> bool:
    """No touched path is changed, staged or in the way, whatever git was told to assume about it."""
    touched = repository.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", head, tip).out
    paths = touched.split(b"\0")[:-1]
    if not paths:
        return True
    staged = repository.run("diff-index", "--cached", "-z", "--name-only", "--no-renames", head).out
    if not set(paths).isdisjoint(staged.split(b"\0")):
        return False
    named = [os.fsdecode(path) for path in paths] if len(paths) <= NAMED else []
    compared = ("--no-pager", "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv")
    changed = repository.run("--literal-pathspecs", *compared, "--", *named).out
    if not set(paths).isdisjoint(changed.split(b"\0")):
        return False
    lines = repository.run("--literal-pathspecs", "ls-files", "-v", "-z", "--", *named).out.split(b"\0")[:-1]
    flags = {line[2:]: line[:1] for line in lines}
    return all(_as_in_head(os.path.join(os.fsencode(repository.top), path), flags.get(path)) for path in paths)


def _as_in_head(path: bytes, flag: bytes | None) -> bool:
    """Of a touched path in which git sees no change: nothing is there that git does not look at."""
    return flag == b"H" or (flag in (None, b"S") and not os.path.lexists(path))
