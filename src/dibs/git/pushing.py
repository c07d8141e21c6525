"""Pushes as compare-and-set, and what their outcome means.

git compares twice: with what the remote lists when the push begins, and, on the remote and under its lock, with that
same value when it is written. What is sent is therefore written from exactly the expected values or not at all.

    DONE      written
    STALE     a ref that this names was not as expected, as git itself saw; nothing was written
    REFUSED   the remote said no: a hook, a rule, a lock, or another push a moment earlier; nothing was written.
              Which of these it was is worded differently everywhere, so who asks looks at the remote
    Unsure    raised when no answer came
    StorageError  raised when the remote was never reached
"""

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple, Protocol

from dibs.errors import StorageError
from dibs.git.process import Done, Timeout
from dibs.stores.store import Unsure


class Verdict(Enum):
    DONE = "done"
    STALE = "stale"
    REFUSED = "refused"


class Update(NamedTuple):
    ref: str
    old: str  # the id it must have, "" for none
    new: str  # the id it gets, "" to delete it


class Outcome(NamedTuple):
    verdict: Verdict
    words: str
    passing: bool = False  # it may well be otherwise in a moment: somebody was writing there
    stale: frozenset[str] = frozenset()  # the refs that certainly were not as expected


class Runner(Protocol):
    def __call__(self, *args: str, ok: tuple[int, ...]) -> Done: ...


ANY = tuple(range(256)) + tuple(range(-64, 0))
# Said before anything was sent, by the git on this side, which speaks English (LC_ALL=C).
_NEVER_REACHED = (
    "Could not read from remote repository",
    "unable to access",
    "Authentication failed",
    "could not read Username",
    "could not read Password",
    "does not support --atomic push",
    "hung up upon initial contact",
    "unable to find remote helper",
    "Unable to find remote helper",
    "src refspec",
    "bad object",
    "invalid refspec",
    "protocol '",
    "transport '",
)
_PASSING = (
    "cannot lock",
    ".lock'",
    "failed to update ref",
    "transaction failed",
    "is at ",
    "already exists",
    "incorrect old value",
)


def push(run: Runner, remote: str, updates: Sequence[Update]) -> Outcome:
    """One push of all `updates`, or of none of them."""
    leases = [f"--force-with-lease={one.ref}:{one.old}" for one in updates]
    wanted = [f"{one.new}:{one.ref}" for one in updates]
    atomic = ["--atomic"] if len(updates) > 1 else []
    command = ["push", "--porcelain", "--no-verify", *atomic, *leases, "--", remote, *wanted]
    try:
        done = run(*command, ok=ANY)
    except Timeout as error:
        raise Unsure(f"{error}; it may have been written") from None
    return judged(done, [one.ref for one in updates])


def judged(done: Done, refs: Sequence[str]) -> Outcome:
    lines = _lines(done.out)
    said = "; ".join(lines[ref][1] for ref in refs if ref in lines and lines[ref][0] == "!")
    words = f"{said}: {done.words()}" if said else done.words()
    if all(ref in lines and lines[ref][0] in " +-*" for ref in refs):
        return Outcome(Verdict.DONE, "")  # whatever the exit code: what came after the update is not ours
    if "remote ref does not exist" in done.err:
        return Outcome(Verdict.STALE, words)
    if any(ref in lines and lines[ref][1].startswith("[remote failure]") for ref in refs):
        raise Unsure(f"the git remote gave no answer to a push ({words}); it may have been written")
    if all(ref in lines for ref in refs):
        # "=" is what is there already: by somebody else's hand, or by an earlier try of which we know nothing.
        if any(lines[ref][1].startswith("[remote rejected]") for ref in refs):
            return Outcome(Verdict.REFUSED, words, any(word in words for word in _PASSING))
        stale = frozenset(ref for ref in refs if lines[ref] == ("!", "[rejected] (stale info)"))
        return Outcome(Verdict.STALE, words, stale=stale)
    if not lines and any(word in done.err for word in _NEVER_REACHED):
        raise StorageError(f"the git remote cannot be reached, nothing was written: {done.words()}")
    raise Unsure(f"the git remote gave no answer to a push ({words}); it may have been written")


def _lines(out: bytes) -> dict[str, tuple[str, str]]:
    """ref -> (flag, summary) out of what `git push --porcelain` printed."""
    found: dict[str, tuple[str, str]] = {}
    for line in out.decode(errors="surrogateescape").splitlines():
        parts = line.split("\t")
        if len(parts) == 3 and len(parts[0]) == 1:
            found[parts[1].rpartition(":")[2]] = (parts[0], parts[2])
    return found
