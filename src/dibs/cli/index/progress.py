"""How far compacting is: a line that is written over at a terminal, a line now and then in a log."""

from __future__ import annotations

import sys
from typing import TextIO

from dibs.clock import SYSTEM, Clock, iso
from dibs.index.compactor import MERGED, Done

LOG_SECONDS = 30.0


class Progress:
    """`quiet`: says nothing, and only counts. `out`: standard error."""

    def __init__(self, *, quiet: bool, out: TextIO | None = None, clock: Clock = SYSTEM) -> None:
        self._out = None if quiet else sys.stderr if out is None else out
        self._live = self._out is not None and self._out.isatty()
        self._clock = clock
        self._said_at = clock.boottime()
        self._said = self._written = 0
        self._pass_has = self._pass_did = 0
        self.shards = self.files = self.records = 0

    def begun(self, shards: int) -> None:
        """A pass over so many."""
        self._pass_has, self._pass_did = shards, 0

    def did(self, done: Done) -> None:
        self._pass_did += 1
        self.shards += done.outcome == MERGED
        self.files += done.files
        self.records += done.records
        if self._live:
            self._write_over()
        elif self._clock.boottime() - self._said_at >= LOG_SECONDS:
            self.pause()

    def pause(self) -> None:
        """There is nothing to do just now: in a log, what was done until then."""
        if self._out is None or self._live or self.records == self._said:
            return
        print(f"{iso(self._clock.wall())}  {self._text()}", file=self._out, flush=True)
        self._said, self._said_at = self.records, self._clock.boottime()

    def ended(self) -> None:
        if self._live and self._written:
            print(file=self._out)

    def _text(self) -> str:
        merged = f"{self.records:,} records of {self.files:,} files merged into {self.shards:,} shards"
        place = f"{self._pass_did:,} of {self._pass_has:,} shards: " if self._pass_has else ""
        return place + merged

    def _write_over(self) -> None:
        text = self._text()
        print("\r" + text.ljust(self._written), end="", file=self._out, flush=True)
        self._written = len(text)
