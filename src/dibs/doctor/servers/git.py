"""A git remote: compare-and-set on refs, which `specs:…?git=refs` rests on."""

import random
from collections.abc import Callable
from contextlib import suppress

from dibs.clock import SYSTEM, Clock
from dibs.doctor.finding import Finding, Level
from dibs.doctor.race import LOST, WON, rounds
from dibs.doctor.report import Report
from dibs.doctor.servers.racing import raced
from dibs.doctor.traces import is_left, new_name
from dibs.errors import DibsError
from dibs.git.refs import RefStore
from dibs.git.repository import Repository
from dibs.stores.store import Changed, Exists
from dibs.values import replace

_PREFIX = "doctor-"
_CHECK = "refs of the remote"


class Acts:
    def __init__(self, place: list[str]) -> None:
        folder, remote, self._key = place
        self._store = _store(folder, remote)
        self._clock = SYSTEM

    def ready(self, me: int) -> bool:
        return True

    def race(self, me: int, count: int, at: float, step: float) -> list[str]:
        return [self._create(number, me) for number in rounds(count, at, step, self._clock)]

    def _create(self, number: int, me: int) -> str:
        try:
            self._store.create(f"{self._key}-{number}", b"process %d\n" % me)
            return WON
        except Exists:
            return LOST
        except DibsError:
            return "an error"


def examine_remote(
    report: Report,
    folder: str,
    remote: str,
    clock: Clock,
    rng: random.Random,
    tell: Callable[[str], None],
    *,
    quick: bool,
) -> None:
    tell("refs of the git remote")
    key, count = f"{_PREFIX}{new_name(clock, rng)}", 3 if quick else 8
    store = _store(folder, remote)
    _sweep(store, clock)
    try:
        before = clock.boottime()
        version = store.create(key, b"first\n")
        taken = clock.boottime() - before
        step = max(0.2, 2 * taken)
        place = [folder, remote, key]
        try:
            report.findings.append(raced(__name__, place, clock, crew=3, count=count, step=step, check=_CHECK))
            report.findings.append(_stale(store, key, version))
            report.findings.append(paced(report, taken))
            decide(report)
        finally:
            for name in (key, *(f"{key}-{number}" for number in range(count))):
                with suppress(DibsError):
                    store.delete(name)
    except DibsError as error:
        remedy = "check that this user may push refs/dibs/* there"
        report.findings.append(
            Finding(check=_CHECK, tried="begun", happened=str(error), level=Level.BAD, remedy=remedy)
        )


def paced(report: Report, taken: float) -> Finding:
    report.figures["push_seconds"] = round(taken, 3)
    words = f"{taken * 1000:,.0f} ms for a push to the remote: a claim takes one, and so does each step after"
    return Finding(check="pace", tried="one ref", happened=words)


def decide(report: Report) -> None:
    """Each host has a clone of its own, and the remote decides between them: the disk is of one host anyway."""
    if any(one.level is Level.BAD for one in report.findings):
        return
    for place, one in enumerate(report.findings):
        if one.level is Level.ONE_HOST:
            happened = f"{one.happened}; of this clone alone, the remote decides between hosts"
            report.findings[place] = replace(one, level=Level.NOTE, happened=happened, remedy="")


def _sweep(store: RefStore, clock: Clock) -> None:
    """What doctors left that were killed."""
    for name in list(store.list(_PREFIX)):
        if is_left(name, clock):
            with suppress(DibsError):
                store.delete(name)


def _stale(store: RefStore, key: str, version: str) -> Finding:
    store.replace(key, b"second\n", version)
    tried = "a push from an old value"
    try:
        store.replace(key, b"third\n", version)
    except Changed:
        return Finding(check="stale ref", tried=tried, happened="refused")
    words = "taken: a worker that was taken over could finish a task"
    return Finding(check="stale ref", tried=tried, happened=words, level=Level.BAD, remedy="use another remote")


def _store(folder: str, remote: str) -> RefStore:
    return RefStore(Repository.find(folder), remote)
