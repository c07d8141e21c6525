"""Where a result is written to: standard output, or a file that is replaced when the result is whole."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

from dibs.cli.exits import CommandError


@contextmanager
def target(path: str | None) -> Iterator[IO[bytes]]:
    """After an error a file is as it was before."""
    if path is None:
        if sys.stdout is None:
            raise CommandError("standard output is closed; the result cannot be written")
        sys.stdout.flush()
        yield sys.stdout.buffer
        return
    mode = _mode(path)
    if mode is not None and not stat.S_ISREG(mode):  # a pipe or a device
        with _opened(path, path) as file:
            yield file
        return
    place = os.path.realpath(path)
    spare = f"{place}.{os.getpid()}.part"
    try:
        with _opened(path, spare) as file:
            yield file
        if mode is not None:
            os.chmod(spare, stat.S_IMODE(mode))
        os.replace(spare, place)
    finally:
        with suppress(OSError):
            os.unlink(spare)


def _mode(path: str) -> int | None:
    try:
        return os.stat(path).st_mode
    except OSError:
        return None


def _opened(path: str, place: str) -> IO[bytes]:
    try:
        return open(place, "wb")
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror}") from None
