"""A daemon: who answers there, what the token allows, how soon, and what it serves. Nothing is pushed or claimed: it
has no place of its own for the doctor, and says of no queue where that is; so the storage is to be examined there."""

import random
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

from dibs import __version__
from dibs.clock import Clock
from dibs.doctor.finding import Finding, Level, said
from dibs.doctor.folders.times import skewed
from dibs.doctor.place import settings
from dibs.doctor.report import Report
from dibs.errors import DibsError, StorageError, Unsupported
from dibs.queues.remote.address import Address, parse
from dibs.queues.remote.connections import Connections
from dibs.redact import redact

_PATIENCE_SECONDS = 2.0
_SLOW_SECONDS = 0.5
_BESIDE = "run `dibs doctor` where the daemon runs, on the queue's own URL"
_WHY = "through one daemon any number of hosts may work if what is behind it is safe on the daemon's own host"


class Asking(Connections):
    def health(self) -> dict[str, Any]:
        """StorageError when nobody answers, or something else than a daemon."""
        try:
            found = self._decoded(self._send(b"GET /healthz " + self._head + b"\r\n"))
        except OSError as lost:
            raise self._unreachable(lost) from None
        if not isinstance(found, dict) or "version" not in found:
            raise StorageError(f"{self.address.where} does not answer as a dibs daemon does; check the URL")
        return found


def examine_daemon(
    report: Report, url: str, clock: Clock, rng: random.Random, tell: Callable[[str], None], *, quick: bool
) -> None:
    address = parse(url, {"patience": str(_PATIENCE_SECONDS), "timeout": "10", **settings(url)})
    asking = Asking(address, clock)
    try:
        tell("the daemon")
        report.kind = f"daemon {(version := str(asking.health()['version']))}"
        report.findings.append(_version(version))
        about = asking.first("", _PATIENCE_SECONDS)  # a token that is not good enough for that is no verdict
        report.findings.append(_token(asking, address))
        report.findings.append(_queue(about, len(asking.queues())))
        tell("answers")
        report.findings += _answers(report, asking, clock, 8 if quick else 40)
        words = f"not tried, as the daemon does not say where {about['name']!r} is; {_WHY}"
        report.findings.append(
            Finding(check="place behind", tried="no", happened=words, level=Level.ONE_HOST, remedy=_BESIDE)
        )
    finally:
        asking.close()


def _version(version: str) -> Finding:
    if version == __version__:
        return Finding(check="version", tried="asked", happened=f"{version}, as here")
    words = f"the daemon is dibs {version}, this is {__version__}"
    return Finding(check="version", tried="asked", happened=words, level=Level.NOTE, remedy="upgrade the older one")


def _queue(about: dict[str, Any], served: int) -> Finding:
    among = "the only one" if served == 1 else f"one of {served}"
    words = f"{about['name']!r}, {among} that the daemon serves"
    if about["paused"] is None:
        return Finding(check="queue", tried="asked", happened=words)
    words += f"; it is paused: {about['paused'] or 'nobody said why'}"
    return Finding(check="queue", tried="asked", happened=words, level=Level.NOTE)


def _token(asking: Asking, address: Address) -> Finding:
    """A push of nothing is refused to a token that may only look, and changes nothing."""
    tried = "a push of no tasks"
    try:
        asking.post("/tasks", {"tasks": []})
    except Unsupported as error:
        words, remedy = said(error)
        return Finding(check="token", tried=tried, happened=words, level=Level.BAD, remedy=remedy)
    words = "who may open the socket may do everything" if address.socket else "it suffices to look and to work"
    return Finding(check="token", tried=tried, happened=words)


def _answers(report: Report, asking: Asking, clock: Clock, count: int) -> Iterator[Finding]:
    """How soon the queue behind is heard through it, and what time it has."""
    taken, skews, tried = [], [], f"{count} questions to the queue behind"
    try:
        for _ in range(count):
            before, wall = clock.boottime(), clock.wall()
            told = float(asking.get("/time")["time"])
            taken.append(clock.boottime() - before)
            skews.append(told - (wall + taken[-1] / 2))
    except DibsError as error:
        words, remedy = said(error)
        yield Finding(check="pace", tried=tried, happened=redact(words), level=Level.BAD, remedy=remedy)
        return
    usual, worst = median(taken), max(taken)
    report.figures |= {"answer_seconds": round(usual, 4), "clock_skew_seconds": round(median(skews), 1)}
    words = f"one in {usual * 1000:.1f} ms, at worst {worst * 1000:.1f} ms"
    slow = usual > _SLOW_SECONDS
    yield Finding(
        check="pace", tried=tried, happened=f"{words}: each step of a task waits so long" if slow else words,
        level=Level.WARNING if slow else Level.GOOD,
        remedy="look at the network, and at what is behind the daemon; --batch asks less often" if slow else "",
    )  # fmt: skip
    yield skewed(median(skews), "queue behind")
