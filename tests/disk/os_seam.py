"""The system calls of file queue, file store and specs, seen one by one before they happen.

Whoever is told may kill this process, refuse the call with an error, or only take notes. Who is told afterwards may
lose the answer: the call has taken effect.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import dibs.queues.directory.frontier
import dibs.queues.files.fs
import dibs.queues.lockfiles.placing
import dibs.queues.specs.pages
import dibs.queues.specs.queue
import dibs.stores.files
import dibs.stores.syncing

CHANGING = {"write", "fsync", "rename", "replace", "link", "unlink", "mkdir", "makedirs", "rmdir", "utime", "ftruncate"}
READING = {"stat", "lstat", "listdir", "scandir", "read"}
Told = Callable[[str, tuple[Any, ...]], None]
_MODULES = (
    dibs.queues.directory.frontier,
    dibs.queues.files.fs,
    dibs.queues.lockfiles.placing,
    dibs.queues.specs.pages,
    dibs.queues.specs.queue,
    dibs.stores.files,
    dibs.stores.syncing,
)


class OsSeam:
    """Stands where the module `os` stood. Only calls that change something on disk are told, or with `reads` all."""

    def __init__(self, told: Told, *, after: bool = False, reads: bool = False) -> None:
        self._told = told
        self._after = after
        self._reads = reads

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name not in CHANGING and name != "open" and not (self._reads and name in READING):
            return real

        def call(*args: Any, **more: Any) -> Any:
            heard = name != "open" or args[1] & os.O_CREAT or self._reads
            if heard and not self._after:
                self._told(name, args)
            answer = real(*args, **more)
            if heard and self._after:
                self._told(name, args)
            return answer

        return call


@contextmanager
def told(tell: Told, *, after: bool = False, reads: bool = False) -> Iterator[None]:
    """While inside, `tell(name, arguments)` is called before, or after, every changing system call; with `reads`
    every reading one too."""
    seam = OsSeam(tell, after=after, reads=reads)
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
