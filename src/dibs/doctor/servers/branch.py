"""A branch of a git remote, whose commits are the claims of `specs:…?git=push`: does it take any, and one winner?

Whether the queue's own branch takes commits from this user is asked without a change of it: in one push that is whole
or not at all, together with a ref that no git can make (a name below the branch itself). Hooks and rules judge the
commit, then the whole is refused. That the remote keeps to "whole or not at all" is seen on another name first."""

import random
from collections.abc import Callable

from dibs.clock import SYSTEM, Clock
from dibs.doctor.finding import Finding, Level
from dibs.doctor.race import LOST, WON, rounds
from dibs.doctor.report import Report
from dibs.doctor.servers.git import decide, paced
from dibs.doctor.servers.racing import raced
from dibs.doctor.traces import is_left, new_name
from dibs.errors import DibsError
from dibs.git.branch import Branch
from dibs.git.pushing import ANY, Outcome, Update, Verdict, push
from dibs.git.repository import Repository
from dibs.stores.store import Changed

_PREFIX = "dibs-doctor-"
_CHECK = "branches of the remote"
_OWN = "branch of the queue"
_FILE = "dibs-doctor.md"
_TRIES = 3
_WHOLE = ("atomic", "transaction", "failed to update ref", "cannot lock ref")  # it was refused as the other was


class Tried(Branch):
    def would_take(self, scratch: str) -> Finding:
        """Whether the branch takes a commit from here."""
        for _ in range(_TRIES):
            tip = self.fetch()
            if tip is None:
                words = f"{self.name!r} is not there yet; the first claim makes it"
                return Finding(check=_OWN, tried="asked", happened=words, level=Level.NOTE)
            new = self._commit(tip, {_FILE: b"---\nstatus: draft\n---\n"}, "dibs doctor: to be refused")
            spare = self._with_impossible(Update(f"refs/heads/{scratch}", "", new))
            if spare.verdict is Verdict.DONE or scratch in self.left():
                self.remove([scratch])
                words = f"not tried on {self.name!r}: the remote takes parts of what is to be taken whole"
                return Finding(check=_OWN, tried="no", happened=words, level=Level.NOTE)
            outcome = self._with_impossible(Update(self.ref, tip, new))
            if outcome.verdict is not Verdict.STALE:
                return self._judged(outcome)
        words = f"not tried on {self.name!r}: others push to it all the time"
        return Finding(check=_OWN, tried=f"{_TRIES} pushes", happened=words, level=Level.NOTE)

    def _judged(self, outcome: Outcome) -> Finding:
        tried = "a push that cannot be done whole"
        first = outcome.words.split("; ")[0]  # what was said of the branch; the rest is of the impossible name
        if any(word in first for word in _WHOLE):
            return Finding(check=_OWN, tried=tried, happened=f"{self.name!r} would take commits from here")
        remedy = f"let this user push to {self.name!r}, name another by ?branch=, or claim by ?git=refs"
        words = f"{self.name!r} takes no commits from here: {outcome.words}"
        return Finding(check=_OWN, tried=tried, happened=words, level=Level.BAD, remedy=remedy)

    def left(self) -> list[str]:
        """The scratch branches that are there."""
        listed = self.repository.run("ls-remote", "--quiet", "--heads", "--", self.remote, f"refs/heads/{_PREFIX}*").out
        return [line.partition("\trefs/heads/")[2] for line in listed.decode(errors="replace").splitlines()]

    def remove(self, names: list[str]) -> None:
        if names:
            refs = [f":refs/heads/{name}" for name in names]
            self._run_push("push", "--quiet", "--no-verify", "--", self.remote, *refs, ok=ANY)

    def _with_impossible(self, update: Update) -> Outcome:
        return push(self._run_push, self.remote, [update, Update(f"{self.ref}/dibs-doctor", "", update.new)])


class Acts:
    def __init__(self, place: list[str]) -> None:
        self._folder, self._remote, self._key = place
        self._clock = SYSTEM

    def ready(self, me: int) -> bool:
        return True

    def race(self, me: int, count: int, at: float, step: float) -> list[str]:
        return [self._begin(number, me) for number in rounds(count, at, step, self._clock)]

    def _begin(self, number: int, me: int) -> str:
        """The first commit of a branch of the round's own."""
        try:
            _scratch(self._folder, self._remote, f"{self._key}-{number}").publish(None, _written(me), "dibs doctor")
            return WON
        except Changed:
            return LOST
        except DibsError:
            return "an error"


def examine_branch(
    report: Report,
    folder: str,
    remote: str,
    name: str,
    clock: Clock,
    rng: random.Random,
    tell: Callable[[str], None],
    *,
    quick: bool,
) -> None:
    tell("the branch of the git remote")
    key, count = f"{_PREFIX}{new_name(clock, rng)}", 3 if quick else 8
    branch = Tried(Repository.find(folder), remote, name)
    branch.remove([one for one in branch.left() if is_left(one, clock)])
    try:
        report.findings.append(branch.would_take(f"{key}-spare"))
        if report.findings[-1].level is Level.BAD:
            return
        first, before = _scratch(folder, remote, key), clock.boottime()
        tip = first.publish(None, _written(0), "dibs doctor")
        taken = clock.boottime() - before
        place, step = [folder, remote, key], max(0.2, 2 * taken)
        report.findings.append(raced(__name__, place, clock, crew=3, count=count, step=step, check=_CHECK))
        report.findings.append(_stale(first, tip))
        report.findings.append(paced(report, taken))
        decide(report)
    except DibsError as error:
        remedy = f"let this user push branches {_PREFIX}* for the examination, and run it again"
        words = f"could not be tried: {error}"
        report.findings.append(Finding(check=_CHECK, tried="no", happened=words, level=Level.ONE_HOST, remedy=remedy))
    finally:
        branch.remove([one for one in branch.left() if one.startswith(key)])


def _stale(branch: Branch, tip: str) -> Finding:
    branch.publish(tip, _written(1), "dibs doctor")
    tried = "a commit on an old tip"
    try:
        branch.publish(tip, _written(2), "dibs doctor")
    except Changed:
        return Finding(check="stale tip", tried=tried, happened="refused")
    words = "taken: a worker that was taken over could finish a task"
    return Finding(check="stale tip", tried=tried, happened=words, level=Level.BAD, remedy="use another remote")


def _scratch(folder: str, remote: str, name: str) -> Branch:
    return Branch(Repository.find(folder), remote, name, "")


def _written(me: int) -> dict[str, bytes | None]:
    return {"doctor.txt": b"process %d\n" % me}
