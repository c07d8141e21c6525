"""All checks of a folder, one after the other. What cannot be tried is a finding too."""

import random
from collections.abc import Callable, Iterator, Sequence

from dibs.clock import Clock
from dibs.doctor.crew import NoAnswer
from dibs.doctor.finding import Finding, Level
from dibs.doctor.folders import atomic, exclusive, kind, locks, names, pace, room, syncing, times, visible
from dibs.doctor.folders.ground import Ground, existing, prepared
from dibs.doctor.folders.mounts import mount_of
from dibs.doctor.report import Report
from dibs.errors import StorageError

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
    needs_locks: bool = True,
) -> None:
    """`more`: what a backend needs beyond a folder. `needs_locks`: not only for keys."""
    mount = mount_of(existing(place))
    report.kind = mount.shown
    report.findings += kind.check(mount)
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
        ("pace", pace.check),
    ]
    if hosts > 1:
        from dibs.doctor.folders import hosting

        checks.insert(0, ("other hosts", lambda ground: hosting.check(ground, tell, hosts)))
    code = f"{rng.getrandbits(30):06x}" if hosts > 1 else ""
    try:
        with prepared(place, clock, rng, quick=quick, code=code) as ground:
            ground.needs_locks = needs_locks
            for name, check in checks:
                tell(name)
                if not _add(report, name, ground, check):
                    break
            report.figures |= ground.figures
    except StorageError as error:
        report.findings.append(
            Finding(check="writing", tried="once", happened=str(error), level=Level.BAD, remedy="see above")
        )
    report.advice += pace.advice(report.figures)


def _add(report: Report, name: str, ground: Ground, check: Check) -> bool:
    """False when there is no use in going on."""
    try:
        report.findings += check(ground)
    except (OSError, StorageError, ValueError) as error:
        words = f"could not be tried: {error}"
        remedy = "look at the mount and the server's log"
        report.findings.append(Finding(check=name, tried="begun", happened=words, level=Level.BAD, remedy=remedy))
        return not isinstance(error, NoAnswer)
    return True
