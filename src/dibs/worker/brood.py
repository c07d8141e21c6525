"""The child processes of a worker: found, killed, and seen to be gone.

A dead worker's children must be dead before its task goes to another. They are known by the process
groups that the worker named, and by a mark in their environment (`DIBS_WARD`), which everything
that a worker starts inherits, forked or executed. Where there is no /proc of ours only the groups are known.
"""

import os
import signal
from collections.abc import Iterable, Iterator

from dibs.host import proc_is_ours
from dibs.queues.heart import MARK

_ENTRY = f"{MARK}=".encode()


def kill_brood(mark: str, groups: Iterable[int]) -> bool:
    """Kill once whatever is left; True when nothing was. Call again until it is."""
    groups = frozenset(groups)
    if not proc_is_ours(os.getpid()):
        killed = [group for group in groups if kill_group(group)]
        return not killed
    clean = True
    for pid in _members(mark, groups):
        if pid == os.getpid():
            continue
        clean = False
        _kill(pid)
    return clean


def kill_group(group: int) -> bool:
    """SIGKILL to a process group; False when there is none. A zombie leader still counts as one."""
    try:
        os.killpg(group, signal.SIGKILL)
        return True
    except (ProcessLookupError, PermissionError):
        return False


def _members(mark: str, groups: frozenset[int]) -> Iterator[int]:
    wanted = mark.encode()
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
            if fields[0] in b"ZX":
                continue
            if int(fields[2]) in groups or _marked(name, wanted):
                yield int(name)
        except (OSError, IndexError):
            continue  # it ended meanwhile, or belongs to somebody else


def _marked(pid: str, mark: bytes) -> bool:
    with open(f"/proc/{pid}/environ", "rb") as file:
        entries = file.read().split(b"\0")
    return any(mark in entry[len(_ENTRY) :].split(b",") for entry in entries if entry.startswith(_ENTRY))


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it ended by itself
    except PermissionError:
        pass  # it changed its user; its lease is given back only after its TTL
