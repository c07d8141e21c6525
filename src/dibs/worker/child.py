"""One command, run in a process group of its own, with bounded memory.

The group is killed whole: at its time limit, when `kill` is called, and when its leader ends, so
nothing of a task goes on after it. The kernel kills the leader too when this process dies.
The group id cannot be reused while it may still be killed: the leader is reaped last.
"""

import ctypes
import os
import selectors
import signal
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO

from dibs.clock import Clock
from dibs.worker.brood import kill_group

OUT_BYTES = 4 << 20
ERR_BYTES = 4096
_CHUNK = 65536
_PR_SET_PDEATHSIG = 1
_prctl = getattr(ctypes.CDLL(None), "prctl", None)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How it ended. `code` is the exit code, or minus the signal; `killed` says why we killed it."""

    code: int
    out: bytes  # the last part of its output
    out_cut: bool  # there was more before it
    err: bytes
    killed: str = ""


class Tail:
    """The last bytes of a stream."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._chunks: deque[bytes] = deque()
        self._size = 0
        self.cut = False

    def add(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        self._size += len(chunk)
        while self._size - len(self._chunks[0]) >= self._limit:
            self._size -= len(self._chunks.popleft())
            self.cut = True

    def take(self) -> bytes:
        data = b"".join(self._chunks)
        self.cut = self.cut or len(data) > self._limit
        return data[-self._limit :]


class Child:
    """Start with the constructor, then `wait` for the outcome. OSError when it cannot be started."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        stdin: bytes,
        clock: Clock,
        show: Callable[[bytes], None] | None = None,
    ) -> None:
        self._clock = clock
        self._show = show
        self._lock = threading.Lock()
        self._reaped = False
        self._killed = ""
        with _file_of(stdin) as source:
            self._process = subprocess.Popen(
                list(argv),
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                env=dict(env),
                start_new_session=True,
                preexec_fn=_die_with_parent if _prctl else None,  # noqa: PLW1509 - one system call, nothing imported
            )
        self.group = self._process.pid

    def kill(self, why: str) -> None:
        """SIGKILL to the group, from any thread. No effect once it is over."""
        with self._lock:
            if not self._reaped:
                self._killed = self._killed or why
                kill_group(self.group)

    def wait(self, limit: float | None = None) -> Outcome:
        """Until it ends, or boottime `limit`, when it is killed."""
        out, err = Tail(OUT_BYTES), Tail(ERR_BYTES)
        assert self._process.stdout is not None and self._process.stderr is not None
        streams = {self._process.stdout.fileno(): out, self._process.stderr.fileno(): err}
        with selectors.DefaultSelector() as selector, self._process.stdout, self._process.stderr:
            for fd in streams:
                os.set_blocking(fd, False)
                selector.register(fd, selectors.EVENT_READ)
            ended = _exit_notice(self.group)
            try:
                if ended is not None:
                    selector.register(ended, selectors.EVENT_READ)
                self._follow(selector, streams, limit, polled=ended is None)
            finally:
                if ended is not None:
                    os.close(ended)
            kill_group(self.group)
            for fd, tail in streams.items():
                while self._read(fd, tail):
                    pass
            with self._lock:
                self._reaped = True
                code = self._process.wait()
        return Outcome(code, out.take(), out.cut, err.take(), self._killed)

    def _follow(
        self, selector: selectors.BaseSelector, streams: Mapping[int, Tail], limit: float | None, *, polled: bool
    ) -> None:
        while True:
            pause = 0.05 if polled else None
            if limit is not None:
                left = limit - self._clock.boottime()
                if left <= 0:
                    self.kill("timed out")
                    limit = None
                    continue
                pause = left if pause is None else min(pause, left)
            for key, _ in selector.select(pause):
                if key.fd not in streams:
                    return
                if self._read(key.fd, streams[key.fd]) is False:
                    selector.unregister(key.fd)
            if polled and os.waitid(os.P_PID, self.group, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                return

    def _read(self, fd: int, tail: Tail) -> bool | None:
        """True when something was read, None when nothing is there now, False at the end."""
        try:
            chunk = os.read(fd, _CHUNK)
        except BlockingIOError:
            return None
        if not chunk:
            return False
        tail.add(chunk)
        if self._show is not None:
            self._show(chunk)
        return True


def _die_with_parent() -> None:
    assert _prctl is not None
    _prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def _exit_notice(pid: int) -> int | None:
    """A descriptor that becomes readable when the process ends, reaped or not."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _file_of(data: bytes) -> IO[bytes]:
    """An anonymous file at its start: a child that never reads its input blocks nobody."""
    file: IO[bytes]
    if hasattr(os, "memfd_create"):
        file = os.fdopen(os.memfd_create("payload"), "w+b", buffering=0)
    else:
        file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - the caller closes it
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]
    file.seek(0)
    return file
