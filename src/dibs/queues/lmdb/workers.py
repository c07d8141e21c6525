"""Who claims: this process under its name as a worker, and which others of this host are seen to be dead.

A worker makes itself known with its first claim, and again now and then. What a worker holds goes back at once when its
process is gone, and its guard's with it; else after its time.
"""

import os
import random
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from dibs.clock import Clock
from dibs.errors import BadInput
from dibs.host import Host
from dibs.queues.lmdb.database import Transaction
from dibs.queues.lmdb.environment import forks
from dibs.queues.lmdb.layout import BOOTS_KEY, WORKER, hashed
from dibs.task import decode, encode

KNOWN_SECONDS = 6 * 3600.0  # then a worker says again who it is
Entry = tuple[bytes, bytes]  # name and record


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
        self._named: tuple[int | None, str, bytes] = (None, "", b"")
        self._serial = count(rng.getrandbits(40))
        self._told: tuple[str, int | None, float] = ("", None, 0.0)
        self.known_boot: int | None = None

    @property
    def name(self) -> str:
        """A forked child takes another. One-shot commands of one host and boot share one."""
        which = forks[0] if self._process is os.getpid else self._process()
        if self._named[0] != which:
            if self._pid is None:
                shown, tag = "cli", hashed(f"{self._host.machine} {self._host.boot}")[:4].hex()
            else:
                shown = str(self._process() if self._pid == "self" else self._pid)
                tag = f"{self._rng.getrandbits(32) if self._named[0] is None else int.from_bytes(os.urandom(4)):08x}"
            name = f"{self._host.name}-{shown}-{tag}"
            self._named = (which, name, name.encode())
        return self._named[1]

    def claiming(self) -> tuple[str, bytes, bytes]:
        """Our name, the same as bytes, and a name for what one claim gets, never used again."""
        name = self.name
        worker = self._named[2]
        return name, worker, b"%b.%d" % (worker, next(self._serial))

    def introduction(self, name: str, guard: int | None, now: float) -> bytes | None:
        """What to write beside a claim under our name; None when it is known."""
        told, of, at = self._told
        if told is name and of == guard and now - at < KNOWN_SECONDS:
            return None
        pid = self._process() if self._pid == "self" else self._pid
        return self._record(None if pid is None else int(pid), guard)

    def introduced(self, name: str, guard: int | None, now: float) -> None:
        """That was committed."""
        self._told = (name, guard, now)

    def vouch(self, txn: Transaction, worker: bytes) -> None:
        """This process beats for a worker: it is its guard, if it has none yet."""
        known = record_of(txn.get(WORKER + worker))
        if known and known.get("guard") is None:
            pid = self._process()
            known |= {"guard": pid, "guard_start": self._host.started(pid)}
            txn.put(WORKER + worker, encode(known))

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
                "at": round(self._clock.wall(), 3),
            }
        )

    # Boots

    def boot(self, txn: Transaction, *, write: bool = False) -> int:
        """The number of this boot in lease keys; 0, which none has, while nobody claimed on it."""
        if self.known_boot is None:
            boots: dict[str, int] = record_of(txn.get(BOOTS_KEY))
            number = boots.get(self._host.boot, 0)
            if number:
                self.known_boot = number
            elif write:
                number = max(boots.values(), default=0) + 1
                txn.put(BOOTS_KEY, encode(boots | {self._host.boot: number}))
            return number
        return self.known_boot

    # The others

    def dead(self, txn: Transaction) -> list[Entry]:
        """Those of this host whose process is gone."""
        mine, boot = self.name.encode(), self._host.boot.encode()
        near = [(name, record) for name, record in entries(txn) if boot in record and name != mine]
        return [(name, record) for name, record in near if self._gone(record)]

    def _gone(self, record: bytes) -> bool:
        known = record_of(record)
        try:
            if known["pid"] is None or (known["boot"], known["space"]) != (self._host.boot, self._host.space):
                return False
            guard = known["guard"]
            if guard is not None and not self._host.process_gone(int(guard), str(known["guard_start"])):
                return False  # its guard lives, and ends what it held once the children are dead
            return self._host.process_gone(int(known["pid"]), str(known["start"]))
        except (KeyError, TypeError, ValueError):
            return False


def entries(txn: Transaction) -> Iterator[Entry]:
    with txn.cursor() as cursor:
        if cursor.set_range(WORKER):
            for key, record in cursor.iternext():
                if key[:1] != WORKER:
                    break
                yield key[1:], record


def record_of(data: bytes | None) -> dict[str, Any]:
    """Empty when there is none, or it is damaged."""
    try:
        return dict(decode(data)) if data else {}
    except (BadInput, TypeError, ValueError):
        return {}
