"""Who and where this process is, and whether another one still runs.

A process is known by boot, pid namespace, pid and start time: host names repeat, pids are reused.
Only a process of the same boot and namespace can be seen to be dead; of any other we know nothing.
"""

import os
import re
from functools import cache

from dibs.values import dataclass


@dataclass(frozen=True, slots=True)
class Host:
    """Where a process runs. Two processes with equal `boot` share one boottime clock;
    with equal `boot` and `space` each can see whether the other lives."""

    name: str
    machine: str
    boot: str
    space: str

    def process_gone(self, pid: int, start: str) -> bool:
        """True only when it is certain: no such process, a zombie, or another start time."""
        state, started = process_state(pid)
        if state == "?":
            return False
        return state in "-ZX" or bool(start and started and started != start)

    def started(self, pid: int) -> str:
        """When a process of this host started, in a form only good for comparing; empty when unknown."""
        return process_state(pid)[1]


def process_state(pid: int) -> tuple[str, str]:
    """(state letter, start time): '-' when there is no such process, '?' when that cannot be known."""
    if proc_is_ours(os.getpid()):
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
            return fields[0].decode(), fields[19].decode()
        except (FileNotFoundError, ProcessLookupError):
            pass
        except (OSError, IndexError):
            return "?", ""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return "-", ""
    except OSError:
        return "?", ""
    return "?", ""  # it lives, or is a zombie: there is no /proc to say more


@cache
def proc_is_ours(own_pid: int) -> bool:
    """Whether /proc knows processes by the numbers that we know them by. In a namespace of processes that was given no
    /proc of its own it shows those of the outside, and a number there is another process."""
    return _link("/proc/self") == str(own_pid)


def _first_line(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


@cache
def this_host() -> Host:
    name = re.sub(r"[^a-z0-9]+", "-", os.uname().nodename.lower()).strip("-")[:24] or "host"
    boot = _first_line("/proc/sys/kernel/random/boot_id") or f"unknown-{name}"
    clock_space = _link("/proc/self/ns/time")  # a time namespace shifts CLOCK_BOOTTIME
    return Host(
        name=name,
        machine=_first_line("/etc/machine-id") or name,
        boot=f"{boot}/{clock_space}" if clock_space else boot,
        space=_link("/proc/self/ns/pid"),
    )
