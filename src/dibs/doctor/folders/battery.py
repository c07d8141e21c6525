"""All checks of a folder, one after the other. What cannot be tried is a finding too."""

import random
from collections.abc import Callable, Iterator, Sequence

from dibs.clock import Clock
from dibs.doctor.crew import NoAnswer
from dibs.doctor.finding import Finding, Level, said
from dibs.doctor.folders import atomic, exclusive, kind, locks, names, options, pace, room, syncing, times, visible
from dibs.doctor.folders.ground import Ground, prepared
from dibs.doctor.folders.mounts import existing, mount_of
from dibs.doctor.report import Report, Verdict
from dibs.errors import StorageError

ENOUGH_SECONDS = 20.0  # for what is wrong already: a fault is to be named while somebody waits
Tell = Callable[[str], None]
Check = Callable[[Ground], Iterator[Finding]]


def examine_folder(
    report: Report,
    place: str,
    clock: Clock,
    rng: random.Random,
    tell: Tell,
    *,
    quick: bool,
    hosts: int = 1,
    more: Sequence[tuple[str, Check]] = (),
    paced: Check | None = pace.check,
    needs_locks: bool = True,
) -> None:
    """`more`: what a backend needs beyond a folder. `paced`: how its pace is measured, where it is that of the folder.
    `needs_locks`: not only for keys."""
    mount = mount_of(existing(place))
    report.kind = mount.shown
    report.options = [risk.option for risk in mount.risks]
    report.findings += kind.check(mount)
    report.findings += options.check(mount, needed=needs_locks)
    checks: list[tuple[str, Check]] = [
        *more,
        ("room", room.check),
        ("names", names.check),
        ("exclusive create, link and rename", exclusive.check),
        ("atomic rename", atomic.check),
        ("locks", locks.check),
        ("time stamps and clock", times.check),
        ("visibility", visible.check),
        ("sync", lambda ground: syncing.check(ground, mount)),
    ]
    if paced is not None:
        checks.append(("pace", paced))
    if hosts > 1:
        from dibs.doctor.folders import hosting

        checks.insert(0, ("other hosts", lambda ground: hosting.check(ground, tell, hosts)))
    code = f"{rng.getrandbits(30):06x}" if hosts > 1 else ""
    try:
        with prepared(place, clock, rng, quick=quick, code=code) as ground:
            ground.needs_locks = needs_locks
            for name, check in checks:
                tell(name)
                if not _add(report, name, ground, check) or report.untried:
                    break
                if exclusive.hopeless(report) and clock.boottime() - report.begun > ENOUGH_SECONDS:
                    words = f"that was {ENOUGH_SECONDS:g} s of trying, and it is not safe"
                    report.findings.append(Finding(check="the rest", tried="no", happened=words, level=Level.NOTE))
                    break
            report.figures |= ground.figures
            exclusive.relieve(report)
    except StorageError as error:
        if isinstance(error.__cause__, PermissionError) and report.verdict is not Verdict.UNSAFE:
            raise  # what this user may do says nothing about the place
        happened, remedy = said(error)
        full = room.is_full(happened)
        report.findings.append(
            Finding(
                check="writing",
                tried="once",
                happened=happened,
                level=Level.BAD,
                passing=True,
                remedy=room.MORE if full else remedy,
            )
        )
    report.advice += pace.advice(report.figures)


def _add(report: Report, name: str, ground: Ground, check: Check) -> bool:
    """False when there is no use in going on. What was in the way may be so of this moment only, and no error of the
    system tells: a process was killed, a host left, a server did not answer."""
    try:
        report.findings += check(ground)
    except (OSError, StorageError, ValueError) as error:
        happened, remedy = said(error)
        words, remedy = f"could not be tried: {happened}", room.MORE if room.is_full(happened) else remedy
        report.findings.append(
            Finding(check=name, tried="begun", happened=words, level=Level.BAD, remedy=remedy, passing=True)
        )
        return not isinstance(error, NoAnswer)
    return True
