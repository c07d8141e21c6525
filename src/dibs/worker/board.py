"""A page of memory shared by a supervisor and its runners: what each is doing now, and how many it did.

A runner writes its own slots as it goes, at the price of a few bytes in memory a task; the supervisor
reads them whenever it likes, also after the runner's death. So no message is sent for a task.
A slot is written so that a reader who finds `busy` set finds a whole task, provided that the
writer has been dead or stopped since.

`tickets` are the tasks that may still be started (`--max-tasks`); taking one is atomic between processes.
"""

import fcntl
import mmap
import os
import struct
import threading
from dataclasses import dataclass

_HEAD = struct.Struct("<q")
_FLAG = struct.Struct("<q")
_NOW = struct.Struct("<ddqH")  # started, limit, epoch, length of the id
_GROUP = struct.Struct("<q")
_TALLY = struct.Struct("<dqqq")  # finished, completed, failed, lost
_LOOK = struct.Struct("<d")
_TITLE = struct.Struct("<H")
_HANDLE = struct.Struct("<dH")  # until when it holds, length
_AT_NOW = 8
_AT_GROUP = 40
_AT_TALLY = 48
_AT_LOOK = 80
_AT_TITLE = 88
_AT_TITLE_TEXT = 90
_AT_ID = 200
_AT_HANDLE = 4096
_AT_HANDLE_TEXT = _AT_HANDLE + 10
_TITLE_BYTES = _AT_ID - _AT_TITLE_TEXT
_ID_BYTES = _AT_HANDLE - _AT_ID
_SLOT_BYTES = 8192
HANDLE_BYTES = _SLOT_BYTES - _AT_HANDLE_TEXT
_HEAD_BYTES = 64
NEVER = float("-inf")
NO_LIMIT = float("inf")
ANY_NUMBER = 1 << 60


@dataclass(frozen=True, slots=True)
class Doing:
    """A task in hand. Times are boottime."""

    id: str
    epoch: int
    title: str
    started: float
    limit: float
    group: int  # process group of its command; 0 when it has none
    handle: str = ""  # of its lease, when the guard was not told of it
    until: float = 0.0  # that it holds


@dataclass(frozen=True, slots=True)
class Tally:
    completed: int
    failed: int
    lost: int
    finished: float  # when the last task ended
    looked: float  # when the latest claim that found nothing was begun


class Slot:
    """One task at a time. Written by one thread."""

    def __init__(self, memory: mmap.mmap, base: int) -> None:
        self._memory = memory
        self._base = base
        self._counts = list(_TALLY.unpack_from(memory, base + _AT_TALLY)[1:])
        self._title = b""

    def begin(
        self,
        task_id: str,
        epoch: int,
        title: str,
        started: float,
        limit: float = NO_LIMIT,
        handle: bytes = b"",
        until: float = 0.0,
    ) -> None:
        memory, base = self._memory, self._base
        if handle:
            memory[base + _AT_HANDLE_TEXT : base + _AT_HANDLE_TEXT + len(handle)] = handle
        _HANDLE.pack_into(memory, base + _AT_HANDLE, until, len(handle))
        name = task_id.encode()[:_ID_BYTES]
        memory[base + _AT_ID : base + _AT_ID + len(name)] = name
        _NOW.pack_into(memory, base + _AT_NOW, started, limit, epoch, len(name))
        if title or self._title:
            self._title = title.encode()[:_TITLE_BYTES]
            memory[base + _AT_TITLE_TEXT : base + _AT_TITLE_TEXT + len(self._title)] = self._title
            _TITLE.pack_into(memory, base + _AT_TITLE, len(self._title))
        _FLAG.pack_into(memory, base, 1)

    def set_group(self, group: int) -> None:
        _GROUP.pack_into(self._memory, self._base + _AT_GROUP, group)

    def end(self, now: float, how: int | None) -> None:
        """`how`: 0 completed, 1 failed, 2 lost, None for given back."""
        if how is not None:
            self._counts[how] += 1
        _TALLY.pack_into(self._memory, self._base + _AT_TALLY, now, *self._counts)
        _FLAG.pack_into(self._memory, self._base, 0)

    def look(self, now: float) -> None:
        _LOOK.pack_into(self._memory, self._base + _AT_LOOK, now)

    def doing(self) -> Doing | None:
        memory, base = self._memory, self._base
        if not _FLAG.unpack_from(memory, base)[0]:
            return None
        started, limit, epoch, size = _NOW.unpack_from(memory, base + _AT_NOW)
        name = memory[base + _AT_ID : base + _AT_ID + size].decode("utf-8", "replace")
        (length,) = _TITLE.unpack_from(memory, base + _AT_TITLE)
        title = memory[base + _AT_TITLE_TEXT : base + _AT_TITLE_TEXT + length].decode("utf-8", "ignore")
        (group,) = _GROUP.unpack_from(memory, base + _AT_GROUP)
        until, length = _HANDLE.unpack_from(memory, base + _AT_HANDLE)
        handle = memory[base + _AT_HANDLE_TEXT : base + _AT_HANDLE_TEXT + length].decode("utf-8", "replace")
        return Doing(name, epoch, title, started, limit, group, handle, until)

    def tally(self) -> Tally:
        finished, completed, failed, lost = _TALLY.unpack_from(self._memory, self._base + _AT_TALLY)
        (looked,) = _LOOK.unpack_from(self._memory, self._base + _AT_LOOK)
        return Tally(completed, failed, lost, finished, looked)


class Board:
    def __init__(self, fd: int, slots: int) -> None:
        self.fd = fd
        self._memory = mmap.mmap(fd, _HEAD_BYTES + slots * _SLOT_BYTES)
        self._lock = threading.Lock()
        self.slots = [Slot(self._memory, _HEAD_BYTES + index * _SLOT_BYTES) for index in range(slots)]

    def take_ticket(self) -> bool:
        """May one more task be started? POSIX locks hold between processes and end with them."""
        return self._add_tickets(-1)

    def return_ticket(self) -> None:
        self._add_tickets(1)

    @property
    def tickets(self) -> int:
        return int(_HEAD.unpack_from(self._memory, 0)[0])

    def _add_tickets(self, count: int) -> bool:
        with self._lock:
            fcntl.lockf(self.fd, fcntl.LOCK_EX)
            try:
                left = self.tickets + count
                if left < 0:
                    return False
                _HEAD.pack_into(self._memory, 0, left)
                return True
            finally:
                fcntl.lockf(self.fd, fcntl.LOCK_UN)


def new_board(slots: int, tickets: int | None = None) -> Board:
    fd = os.memfd_create("dibs-board") if hasattr(os, "memfd_create") else _unnamed_file()
    os.ftruncate(fd, _HEAD_BYTES + slots * _SLOT_BYTES)
    board = Board(fd, slots)
    _HEAD.pack_into(board._memory, 0, ANY_NUMBER if tickets is None else tickets)
    for slot in board.slots:
        slot.look(NEVER)
    return board


def _unnamed_file() -> int:
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
