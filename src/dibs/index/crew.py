"""Other processes that compact with this one, for a pass that takes its time.

They do what other machines would: each takes shards by their locks, so none can do harm, whatever becomes of it. The
names of the shards are a list in a file whose position they all share: who reads a name has it. What a process had in
hand when it died still waits in the inbox, under the lock of a dead process; the next pass finds it.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from select import POLLIN, poll
from typing import IO

from dibs.index.compactor import Done
from dibs.index.hand import from_json, names

HAND = "dibs.index.hand"
END_SECONDS = 10.0
LOOK_SECONDS = 1.0
_SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # where this dibs is, for theirs


class Crew:
    """For one pass over these shards, all with names of one length. Ends with the `with`."""

    def __init__(self, url: str, ttl: float, shards: Sequence[str]) -> None:
        self._width = len(shards[0])
        self._processes: dict[int, subprocess.Popen[bytes]] = {}  # by the pipe on which they report
        self._rests: dict[int, bytes] = {}
        self._list = _file()  # the URL is in it too, not on a command line: it may hold secrets
        start = json.dumps({"url": url, "ttl": ttl, "width": self._width}).encode() + b"\n"
        self._list.write(start + "".join(shards).encode())
        self._list.seek(len(start))

    def names(self) -> Iterator[str]:
        """What nobody has taken yet."""
        return names(self._list.fileno(), self._width)

    def start(self, count: int) -> None:
        """As many more processes as can be had."""
        path = os.pathsep.join(filter(None, (_SOURCE, os.environ.get("PYTHONPATH"))))
        for _ in range(count):
            try:
                process = subprocess.Popen(
                    [sys.executable, "-m", HAND],
                    stdin=self._list,
                    stdout=subprocess.PIPE,
                    env={**os.environ, "PYTHONPATH": path},
                    start_new_session=True,  # Ctrl-C is for this process, which ends them
                )
            except OSError:
                return
            assert process.stdout is not None
            self._processes[process.stdout.fileno()] = process
            self._rests[process.stdout.fileno()] = b""

    def heard(self) -> Iterator[Done]:
        """What they have done meanwhile."""
        while found := self._readable(0.0):
            for pipe in found:
                yield from self._read(pipe)

    def rest(self) -> Iterator[Done]:
        """What they do until they have ended, each of them when the list is used up."""
        while self._processes:
            for pipe in (found := self._readable(LOOK_SECONDS)):
                yield from self._read(pipe)
            if not found:  # a fork of another thread can have kept a pipe open
                for pipe in [pipe for pipe, process in self._processes.items() if process.poll() is not None]:
                    self._reap(pipe)

    def _readable(self, seconds: float) -> list[int]:
        if not self._processes:
            return []
        poller = poll()
        for pipe in self._processes:
            poller.register(pipe, POLLIN)
        return [pipe for pipe, _ in poller.poll(seconds * 1000)]

    def _read(self, pipe: int) -> Iterator[Done]:
        said = os.read(pipe, 1 << 16)
        if not said:
            self._reap(pipe)
            return
        *lines, self._rests[pipe] = (self._rests[pipe] + said).split(b"\n")
        for line in lines:
            yield from_json(line)

    def _reap(self, pipe: int) -> None:
        process = self._processes.pop(pipe)
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()

    def __enter__(self) -> "Crew":
        return self

    def __exit__(self, *error: object) -> None:
        """Those that are still at it give back their locks and end."""
        for process in self._processes.values():
            process.terminate()
        for pipe in list(self._processes):
            self._reap(pipe)
        self._list.close()


def _file() -> IO[bytes]:
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("dibs-shards"), "r+b", buffering=0)
    from tempfile import TemporaryFile

    return TemporaryFile(buffering=0)
