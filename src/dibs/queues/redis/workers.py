"""Who claims: this process under its name as a worker, and which others of this host are seen to be dead.

A worker makes itself known with its first claim, and again now and then; `workers` in Redis says of each name where
it runs. What a worker holds goes back at once when its process is gone, and its guard's with it; else after its time.
"""

import os
import random
from collections.abc import Callable
from typing import Any

from dibs.clock import Clock
from dibs.errors import BadInput
from dibs.host import Host
from dibs.task import decode, encode

KNOWN_SECONDS = 6 * 3600.0  # then a worker says again who it is; after a day of silence Redis forgets it


class Workers:
    def __init__(
        self, host: Host, clock: Clock, rng: random.Random, pid: int | str | None, process: Callable[[], int]
    ) -> None:
        """`pid`: the process that claims are bound to: "self", another's, or None for none."""
        self._host = host
        self._clock = clock
        self._rng = rng
        self._pid = pid
        self._process = process
        self._named = (0, "")
        self._told: tuple[str, int | None, float] = ("", None, 0.0)
        self._near: dict[str, str] = {}  # others of this host: name -> record

    @property
    def machine(self) -> str:
        return self._host.machine

    @property
    def boot(self) -> str:
        return self._host.boot.partition("/")[0]

    @property
    def name(self) -> str:
        """A forked child takes another. One-shot commands of one host and boot share one."""
        process = self._process()
        if self._named[0] != process:
            if self._pid is None:
                import hashlib

                tag = hashlib.sha256(f"{self._host.machine} {self.boot}".encode()).hexdigest()[:8]
                self._named = (process, f"{self._host.name}-cli-{tag}")
            else:
                tag = f"{int.from_bytes(os.urandom(4)):08x}"
                shown = process if self._pid == "self" else self._pid
                self._named = (process, f"{self._host.name}-{shown}-{tag}")
        return self._named[1]

    def holder(self) -> str:
        """A name for what one claim gets, never used again."""
        return f"{self.name}.{self._rng.getrandbits(53)}"

    def introduction(self, guard: int | None) -> bytes:
        """The record to send with a claim; empty when it was sent before."""
        name, now = self.name, self._clock.boottime()
        if self._told[:2] == (name, guard) and now - self._told[2] < KNOWN_SECONDS:
            return b""
        pid = self._process() if self._pid == "self" else self._pid
        return self._record(None if pid is None else int(pid), guard)

    def introduced(self, guard: int | None) -> None:
        self._told = (self.name, guard, self._clock.boottime())

    def guard(self) -> tuple[int, str]:
        """This process, as the guard of a lease that it beats for."""
        pid = self._process()
        return pid, self._host.started(pid)

    def _record(self, pid: int | None, guard: int | None) -> bytes:
        host = self._host
        return encode(
            {
                "host": host.name,
                "machine": host.machine,
                "boot": host.boot,
                "space": host.space,
                "pid": pid,
                "start": "" if pid is None else host.started(pid),
                "guard": guard,
                "guard_start": "" if guard is None else host.started(guard),
            }
        )

    # The others

    def heard(self, entries: dict[str, str]) -> None:
        """What Redis knows of workers now."""
        mine = self.name
        self._near = {name: entry for name, entry in entries.items() if name != mine and self._host.boot in entry}

    def dead(self) -> list[tuple[str, str]]:
        """Those, as last heard of, whose process is gone: name and record."""
        return [(name, entry) for name, entry in self._near.items() if self._gone(entry)]

    def forget(self, name: str) -> None:
        self._near.pop(name, None)

    def _gone(self, entry: str) -> bool:
        try:
            known: dict[str, Any] = decode(entry.encode())
            if known["pid"] is None or (known["boot"], known["space"]) != (self._host.boot, self._host.space):
                return False
            guard = known["guard"]
            if guard is not None and not self._host.process_gone(int(guard), str(known["guard_start"])):
                return False  # its guard lives, and ends what it held once the children are dead
            return self._host.process_gone(int(known["pid"]), str(known["start"]))
        except (BadInput, KeyError, TypeError, ValueError):
            return False
