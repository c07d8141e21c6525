"""How `dibs work` is seen: plain lines on stderr, or a live view (see `worklive`). Events as JSON go to stdout."""

from __future__ import annotations

import sys
from typing import Any

from dibs.cli.output import clean, emit, warn
from dibs.queues.why import seconds
from dibs.worker.progress import Progress, Snapshot

_LINE_SECONDS = 10.0
_FAILURES_PER_LINE = 5  # shown between two progress lines; the rest is only counted


class PlainView:
    """A line now and then, and one for what goes wrong. Nothing that steers a terminal."""

    output: int | None = None

    def __init__(self, progress: Progress, *, json: bool = False, every: float = _LINE_SECONDS) -> None:
        self.progress = progress
        self._json = json
        self._every = every
        self._next = every
        self._shown = 0
        self._trouble = ""

    def __enter__(self) -> PlainView:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to put back."""

    def tick(self) -> None:
        snapshot = self.progress.snapshot()
        if snapshot.elapsed >= self._next:
            self._next = snapshot.elapsed + self._every
            self._shown = 0
            self.say(progress_line(snapshot))

    def event(self, event: dict[str, Any]) -> None:
        if self._json:
            emit(event)
            sys.stdout.flush()
        line = event_line(event)
        if not line or (event["event"] == "trouble" and line == self._trouble):
            return
        if event["event"] == "trouble":
            self._trouble = line
        self._shown += 1
        if self._shown <= _FAILURES_PER_LINE or event["event"] == "trouble":
            self.say(line)

    def say(self, text: str) -> None:
        warn(text)


def event_line(event: dict[str, Any]) -> str:
    """One line for what went wrong; nothing for what went well."""
    what = event["event"]
    if what in ("completed", "released"):
        return ""
    if what == "trouble":
        return f"storage: {event['error']}"
    name = f"{event.get('key') or event['id']} (epoch {event['epoch']})"
    if what == "died":
        return f"died: worker {event['pid']} while it had {name}; the task goes to another"
    if what == "silent":
        return f"silent: worker {event['pid']} is stopped or stuck; its lease on {name} ran out"
    error = " ".join(str(event.get("error", "")).split("\n")[:1])
    if what == "lost":
        return f"refused: {name} by worker {event['pid']}: {error or 'the lease is lost'}"
    return f"failed: {name}: {error}"


def progress_line(snapshot: Snapshot) -> str:
    totals = snapshot.totals
    words = [f"{totals.completed:,} completed"]
    if totals.failed:
        words.append(f"{totals.failed:,} failed")
    if totals.lost:
        words.append(f"{totals.lost:,} refused")
    words.append(f"{snapshot.rate:,.1f}/s")
    if snapshot.left is not None:
        words.append(f"{snapshot.left:,} left")
    if snapshot.eta is not None:
        words.append(f"about {seconds(snapshot.eta)}")
    return ", ".join(words)


def summary(snapshot: Snapshot) -> str:
    totals = snapshot.totals
    rate = (totals.completed + totals.failed) / snapshot.elapsed if snapshot.elapsed else 0.0
    refused = f", {totals.lost:,} refused (lease lost)" if totals.lost else ""
    return clean(
        f"done: {totals.completed:,} completed, {totals.failed:,} failed{refused} "
        f"in {seconds(snapshot.elapsed)} ({rate:,.1f}/s)"
    )
