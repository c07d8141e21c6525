"""Names of what the doctor makes on a storage: they tell whose it is, so that the next doctor can remove what one that
was killed has left. On this machine that is seen at once; of another machine's it is told by a day's age.

    SECONDS-WHERE-PID-START-CHANCE
"""

import os
import random
import re
from hashlib import sha256

from dibs.clock import Clock
from dibs.host import Host, this_host

_FORM = re.compile(r"(?<![0-9a-f])([0-9a-f]{8})[-_]([0-9a-f]{8})[-_]([0-9]+)[-_]([0-9]*)[-_]([0-9a-f]{6})(?![0-9a-f])")
LEFT_SECONDS = 86400.0  # no doctor takes so long, and few clocks are so wrong


def new_name(clock: Clock, rng: random.Random, *, between: str = "-") -> str:
    host, pid = this_host(), os.getpid()
    parts = (f"{int(clock.wall()):08x}", _where(host), str(pid), host.started(pid), f"{rng.getrandbits(24):06x}")
    return between.join(parts)


def is_left(name: str, clock: Clock) -> bool:
    """True when one of ours is in `name`, and its doctor is gone."""
    found = _FORM.search(name)
    if found is None:
        return False
    at, where, pid, start, _ = found.groups()
    host = this_host()
    if where == _where(host) and int(pid) != os.getpid():
        return host.process_gone(int(pid), start)
    return clock.wall() - int(at, 16) > LEFT_SECONDS


def _where(host: Host) -> str:
    """Processes of one boot and one space of pids can see each other."""
    return sha256(f"{host.boot} {host.space}".encode()).hexdigest()[:8]
