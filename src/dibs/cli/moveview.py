"""How far a move has come: a bar on a terminal, a line now and then elsewhere. On stderr."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from dibs.queues.queue import Queue
from dibs.states import State

if TYPE_CHECKING:
    from dibs.moving import Report

_LINE_SECONDS = 5.0
_GOING = (State.READY, State.SCHEDULED, State.BLOCKED, State.FAILED)


class Quiet:
    """Nothing is shown."""

    def __enter__(self) -> Quiet:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, report: Report) -> None:
        pass


class Lines(Quiet):
    def __init__(self, source: Queue, command: str) -> None:
        self._clock = source.clock
        self._done = {"move": "moved", "copy": "copied"}[command]
        self._total = _expected(source)
        self._last = source.clock.boottime()

    def update(self, report: Report) -> None:
        now = self._clock.boottime()
        if now - self._last >= _LINE_SECONDS:
            self._last = now
            print(f"{self._done} {report.total:,} of {max(report.total, self._total):,}", file=sys.stderr, flush=True)


class Bar(Quiet):
    def __init__(self, source: Queue, command: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        words = {"move": "moving", "copy": "copying"}[command]
        self._total = _expected(source)
        self._progress: Any = Progress(
            TextColumn(words), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
            console=Console(stderr=True), transient=True,
        )  # fmt: skip
        self._bar = self._progress.add_task(words, total=self._total)

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def update(self, report: Report) -> None:
        self._progress.update(self._bar, completed=report.total, total=max(report.total, self._total))


def view_of(source: Queue, command: str, *, quiet: bool) -> Quiet:
    if quiet or sys.stderr is None:
        return Quiet()
    return Bar(source, command) if sys.stderr.isatty() else Lines(source, command)


def _expected(source: Queue) -> int:
    counts = source.stats().states
    return sum(counts.get(state, 0) for state in _GOING)
