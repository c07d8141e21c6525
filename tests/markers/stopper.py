"""A claimer that kills or stops itself with its marker made and its task not moved: `stopper URL KILL|STOP SECONDS`.

SECONDS: how long it acts on its marker. Stopped and continued, it says what it got, and how often it tried to move the
task.
"""

import json
import os
import signal
import sys

import dibs
from dibs.queues.files.fs import LocalFs
from dibs.queues.files.markers import Markers


class Stopping(LocalFs):
    def __init__(self, number: int) -> None:
        self._number = number
        self.moves = 0

    def mark(self, path: str, data: bytes) -> bool:
        made = super().mark(path, data)
        if made:
            os.kill(os.getpid(), self._number)
        return made

    def rename(self, source: str, target: str) -> None:  # type: ignore[override]
        self.moves += "/leased/" in target
        super().rename(source, target)


def main(url: str, name: str, seconds: str) -> None:
    Markers.give_up_seconds = float(seconds)
    fs = Stopping(getattr(signal, f"SIG{name}"))
    lease = dibs.open(url, fs=fs).claim()
    print(json.dumps({"epoch": lease and lease.epoch, "moves": fs.moves}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
