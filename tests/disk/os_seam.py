"""The system calls of file queue, file store and specs, seen one by one before they happen.

Whoever is told may kill this process, refuse the call with an error, or only take notes.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import dibs.queues.files.fs
import dibs.queues.lockfiles.placing
import dibs.queues.specs.pages
import dibs.queues.specs.queue
import dibs.stores.files
import dibs.stores.syncing

CHANGING = {"write", "fsync", "rename", "replace", "link", "unlink", "mkdir", "makedirs", "rmdir", "utime", "ftruncate"}
Told = Callable[[str, tuple[Any, ...]], None]
_MODULES = (
    dibs.queues.files.fs,
    dibs.queues.lockfiles.placing,
    dibs.queues.specs.pages,
    dibs.queues.specs.queue,
    dibs.stores.files,
    dibs.stores.syncing,
)


class OsSeam:
    """Stands where the module `os` stood. Only calls that change something on disk are told."""

    def __init__(self, told: Told) -> None:
        self._told = told

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name not in CHANGING and name != "open":
            return real

        def call(*args: Any, **more: Any) -> Any:
            if name != "open" or args[1] & os.O_CREAT:
                self._told(name, args)
            return real(*args, **more)

        return call


@contextmanager
def told(tell: Told) -> Iterator[None]:
    """While inside, `tell(name, arguments)` is called before every changing system call."""
    seam = OsSeam(tell)
    fs = dibs.queues.files.fs.LocalFs
    with ExitStack() as stack:
        for module in _MODULES:
            stack.enter_context(patch.object(module, "os", seam))
        for name in ("rename", "unlink", "rmdir"):
            if isinstance(fs.__dict__.get(name), staticmethod):
                stack.enter_context(patch.object(fs, name, staticmethod(getattr(seam, name))))
        yield


def count_calls(act: Callable[[], Any]) -> int:
    names: list[str] = []
    with told(lambda name, _: names.append(name)):
        act()
    return len(names)
