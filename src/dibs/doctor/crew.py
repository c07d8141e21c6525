"""Processes that contend: each is a Python of its own that does what it is told, in a module of acts.

An order is a line of JSON to all or to one of them, an answer a line back. Where they work is said on their standard
input, never on a command line: it may hold secrets.
"""

import json
import os
import select
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from dibs.clock import Clock
from dibs.errors import StorageError
from dibs.redact import redact

ANSWER_SECONDS = 60.0
_SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # where this dibs is, for theirs


class NoAnswer(StorageError):
    """A process did not come back from what it was told to do: the storage hangs."""


class Ended(NoAnswer):
    """It is no more: somebody killed it, or it could not begin."""


class Member:
    """One process, as seen from here."""

    def __init__(self, acts: str, place: Any, clock: Clock) -> None:
        self._clock = clock
        self._rest = b""
        self._orders = 0
        self._last = ""  # words of one that ended
        self._process = subprocess.Popen(
            [sys.executable, "-m", "dibs.doctor.member", acts],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (_SOURCE, os.environ.get("PYTHONPATH"))))},
        )
        self._tell(place)

    def order(self, act: str, **values: Any) -> None:
        self._orders += 1
        self._tell({"act": act, "order": self._orders, **values})

    def _tell(self, what: Any) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(what).encode() + b"\n")
            self._process.stdin.flush()
        except (OSError, ValueError):  # ValueError: it has ended before
            raise self._ended() from None

    def answer(self, seconds: float = ANSWER_SECONDS) -> Any:
        """To the last order; what is still to come of earlier ones, that nobody waited for, is passed over."""
        until = self._clock.boottime() + seconds
        while True:
            said = json.loads(self._line(until, seconds))
            if said["order"] == self._orders:
                break
        if "error" in said:
            raise StorageError(redact(said["error"]))
        return said["answer"]

    def _line(self, until: float, seconds: float) -> bytes:
        assert self._process.stdout is not None
        while b"\n" not in self._rest:
            left = until - self._clock.boottime()
            if left <= 0 or not select.select([self._process.stdout], [], [], left)[0]:
                raise NoAnswer(f"no answer within {seconds:.0f} s; the storage hangs: look at the mount and the server")
            more = os.read(self._process.stdout.fileno(), 1 << 16)
            if not more:
                raise self._ended()
            self._rest += more
        line, self._rest = self._rest.split(b"\n", 1)
        return line

    def _ended(self) -> Ended:
        if not self._last:
            self._process.kill()
            _, words = self._process.communicate()
            code = self._process.returncode
            how = f"signal {-code}" if code < 0 else f"code {code}"
            self._last = words.decode(errors="replace").strip().rpartition("\n")[2] or how
        return Ended(redact(f"a process of the doctor ended: {self._last}; run the doctor again"))

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


class Crew:
    """`acts`: the module whose functions they run. Use it as a context."""

    def __init__(self, acts: str, place: Any, size: int, clock: Clock) -> None:
        self._clock = clock
        self._members: list[Member] = []
        self.size = size
        try:
            for _ in range(size):
                self._members.append(Member(acts, place, clock))
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> "Crew":
        return self

    def __exit__(self, *_: object) -> None:
        for member in self._members:
            member.end()

    def tell(self, number: int, act: str, **values: Any) -> None:
        self._members[number].order(act, me=number, **values)

    def hear(self, number: int, seconds: float = ANSWER_SECONDS) -> Any:
        return self._members[number].answer(seconds)

    def one(self, number: int, act: str, **values: Any) -> Any:
        self.tell(number, act, **values)
        return self.hear(number)

    def all(self, act: str, members: Sequence[int] | None = None, **values: Any) -> list[Any]:
        """The answers of all, told at the same time. `at`, where an act has it, is when they begin."""
        chosen = range(self.size) if members is None else members
        for number in chosen:
            self.tell(number, act, **values)
        ahead = max(0.0, values.get("at", 0.0) - self._clock.boottime())
        return [self.hear(number, ahead + ANSWER_SECONDS) for number in chosen]
