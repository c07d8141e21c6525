"""Keys from a terminal, one at a time, while it shows something else."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from typing import Any

_NAMED = {
    b"\x1b[A": "up", b"\x1b[B": "down", b"\x1b[C": "right", b"\x1b[D": "left",
    b"\x1bOA": "up", b"\x1bOB": "down", b"\x1bOC": "right", b"\x1bOD": "left",
    b"\t": "tab", b"\r": "enter", b"\n": "enter", b"\x7f": "backspace", b"\x08": "backspace",
    b"\x1b": "escape", b"\x03": "ctrl-c", b"\x04": "eof",
}  # fmt: skip
_LONGEST = 3


class Keys:
    """Gives the terminal back as it was."""

    def __enter__(self) -> Keys:
        self._fd = sys.stdin.fileno()
        self._before: list[Any] = termios.tcgetattr(self._fd)
        tty.setcbreak(self._fd)
        self._left = b""
        return self

    def __exit__(self, *_: object) -> None:
        termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)

    def wait(self, seconds: float) -> list[str]:
        """What was pressed, after at most so long."""
        if not select.select([self._fd], [], [], seconds)[0]:
            return []
        data = os.read(self._fd, 1024)
        if not data:
            return ["eof"]
        return list(named(data))


def named(data: bytes) -> list[str]:
    """The keys in what a terminal sent; what it means by a sequence that is not known is left out."""
    keys = []
    while data:
        for size in range(_LONGEST, 0, -1):
            if data[:size] in _NAMED and len(data[:size]) == size:
                keys.append(_NAMED[data[:size]])
                data = data[size:]
                break
        else:
            text = data.decode(errors="ignore")
            if not text:
                return keys
            keys += [text[0]] if text[0].isprintable() else []
            data = text[1:].encode()
    return keys
