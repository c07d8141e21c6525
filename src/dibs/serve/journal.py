"""What a daemon notes of its workers, so that it knows after a crash who held what: a file that it has locked while it
lives. One write a claim, and no waiting for the disk: it survives the daemon, not a power cut, after which the TTL ends
what nobody renews. Nothing depends on it; a journal that cannot be written is given up and that is said once.
"""

import fcntl
import os
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from dibs.errors import DibsError
from dibs.queues.behalf import SUFFIX, Behalf, Line, Name, heading, read, written

LARGE_BYTES = 256 * 1024
OLD_SECONDS = 7 * 86400.0
_MOST_ENDS = 1000  # that are kept back for the next claim
_MOST_BYTES = 64 * 1024 * 1024


class Journal:
    """`before`: what the daemon before this one, at the same place, left. Safe to use from several threads."""

    def __init__(self, folder: str, name: str, via: str, log: Callable[[str], None] = lambda _: None) -> None:
        """OSError when it cannot be made, or there are no locks."""
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self._folder = folder
        self._via = via
        self._log = log
        self._lock = threading.Lock()
        self._ends: list[Line] = []
        locked = _locked(f"{folder}/{name}{SUFFIX}")
        if locked is None:  # another daemon that calls itself the same lives
            locked = _locked(f"{folder}/{name}-{secrets.token_hex(4)}{SUFFIX}")
            assert locked is not None
        self._file, self._path = locked
        self.before = read(_content(self._file))
        self.now = Behalf(via)
        self.now.sessions, self.now.seen = dict(self.before.sessions), set(self.before.seen)
        self._rewrite()

    def tied(self, names: Iterable[Name], session: str) -> None:
        """These were claimed for a session."""
        lines = [Line("+", name, session) for name in names]
        with self._lock:
            for line in lines:
                self.now.sessions[line.name] = session
            self._write([*self._ends, *lines])
            self._ends = []

    def untied(self, names: Iterable[Name]) -> None:
        """They are over. That is noted with the next claim: a claim too many in a journal does no harm."""
        with self._lock:
            for name in names:
                if self.now.sessions.pop(name, None) is not None:
                    self._ends.append(Line("-", name))
            if len(self._ends) >= _MOST_ENDS:
                self._write(self._ends)
                self._ends = []

    def connected(self, session: str) -> None:
        with self._lock:
            self.now.seen.add(session)
            self.now.connected.add(session)
            self._write([Line("@", session=session)])

    def hung_up(self, session: str) -> None:
        with self._lock:
            self.now.connected.discard(session)
            self._write([Line("!", session=session)])

    def elsewhere(self, session: str) -> bool:
        """Whether it is connected to another daemon that lives and notes its workers in the same folder."""
        return any(session in said.connected for said in _others(self._folder, self._path))

    def close(self) -> None:
        with self._lock, suppress(OSError):
            if self._file < 0:
                return
            if not self.now.sessions:
                os.unlink(self._path)
            else:
                self._write(self._ends)
            self._give_up()

    def _write(self, lines: list[Line]) -> None:
        if self._file < 0 or not lines:
            return
        try:
            self._size += os.write(self._file, b"".join(map(written, lines)))
            if self._size > LARGE_BYTES and self._size > 4 * self._least:
                self._rewrite()
        except (OSError, DibsError) as error:
            self._log(f"cannot note in {self._path} who holds what: {error}; after a crash only the TTL ends claims")
            self._give_up()

    def _rewrite(self) -> None:
        """In place: whoever dies in the middle leaves less, and then the TTL ends what is missing."""
        self.now.seen &= {*self.now.sessions.values(), *self.now.connected}
        lines = [Line("@", session=session) for session in self.now.seen]
        lines += [Line("!", session=session) for session in self.now.seen - self.now.connected]
        lines += [Line("+", name, session) for name, session in self.now.sessions.items()]
        data = heading(self._via) + b"".join(map(written, lines))
        os.ftruncate(self._file, 0)
        self._size = self._least = os.write(self._file, data)

    def _give_up(self) -> None:
        os.close(self._file)
        self._file = -1


def _locked(path: str) -> tuple[int, str] | None:
    """The file, made if need be, and locked for us alone; None when somebody else has it."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(file), os.stat(path)):
                return file, path
        except BlockingIOError:
            os.close(file)
            return None
        except FileNotFoundError:
            pass  # it was removed while we took it
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _others(folder: str, mine: str) -> Iterator[Behalf]:
    """What the other daemons that live have noted."""
    for name in os.listdir(folder):
        path = f"{folder}/{name}"
        if not name.endswith(SUFFIX) or path == mine:
            continue
        with suppress(OSError):
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                yield read(_content(file))
            finally:
                os.close(file)


def tidy(folder: str, now: float) -> None:
    """Remove what daemons have left that were never started again."""
    with suppress(OSError):
        for name in os.listdir(folder):
            path = f"{folder}/{name}"
            if name.endswith(SUFFIX) and now - os.stat(path).st_mtime > OLD_SECONDS and (locked := _locked(path)):
                os.unlink(path)
                os.close(locked[0])


def _content(file: int) -> bytes:
    return os.pread(file, _MOST_BYTES, 0)
