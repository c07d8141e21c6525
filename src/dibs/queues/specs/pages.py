"""Spec files, one at a time: read as they are now, changed in place of what was read, added under a free name.

A change is written elsewhere and renamed over the file, so that a reader finds the old one or the new, and only if
the file still is what was read. Between that look and the rename lie microseconds in which an editor's save is lost.
"""

import errno
import os
import stat as modes
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

from dibs.queues.lockfiles.placing import place, spare
from dibs.specs.badspec import BadSpec
from dibs.specs.frontmatter import edit
from dibs.specs.ids import SUFFIX, fault_of
from dibs.specs.spec import Spec, from_bytes
from dibs.stores.refusal import refusals, storage_error
from dibs.stores.store import Changed
from dibs.stores.syncing import sync

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NOT_THERE = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG}


class Page(NamedTuple):
    """A spec as it was read, with its bytes."""

    spec: Spec
    data: bytes


class Pages(Protocol):
    def refresh(self) -> None:
        """Look at what there is now, if reading does not do so by itself."""
        ...

    def read(self, id: str) -> Page | None:  # noqa: A002
        """None when there is none. BadSpec says why it cannot be read."""
        ...

    def change(self, page: Page, changes: Mapping[str, Any]) -> Page:
        """With these fields set, or removed (None). Changed when the file is no longer as read; BadSpec when its
        form does not allow it."""
        ...

    def add(self, pages: Iterable[tuple[str, bytes]]) -> set[str]:
        """Add files by id, where there is none of that id. Returns the ids of those that were added."""
        ...

    def path(self, id: str) -> str: ...  # noqa: A002


class FilePages:
    """The files of a folder. `spares`: a folder in which files are written first, if on the same file system."""

    def __init__(self, folder: str, spares: str) -> None:
        self.folder = folder
        self._spares = spares if _can_rename(os.path.dirname(spares), folder) else folder

    def refresh(self) -> None:
        """Opening the folder makes a client of a share ask the server which file has which name."""
        with suppress(OSError):
            os.close(os.open(self.folder, os.O_RDONLY))

    def path(self, id: str) -> str:  # noqa: A002
        return f"{self.folder}/{id}{SUFFIX}"

    def read(self, id: str) -> Page | None:  # noqa: A002
        if fault_of(id):
            return None
        path = self.path(id)
        data = self._data(path)
        return None if data is None else Page(from_bytes(id, path, data), data)

    def change(self, page: Page, changes: Mapping[str, Any]) -> Page:
        data = edit(page.data, dict(changes))
        if data == page.data:
            return page
        path = page.spec.path
        with refusals(path):
            mode = modes.S_IMODE(os.stat(path).st_mode)
            with spare(self._spares, data, durable=True, mode=mode) as written:
                if self._data(path) != page.data:
                    raise Changed(path)
                os.rename(written, path)
            sync(self.folder)
        return Page(from_bytes(page.spec.id, path, data), data)

    def add(self, pages: Iterable[tuple[str, bytes]]) -> set[str]:
        added = set()
        for id, data in pages:  # noqa: A001
            path = self.path(id)
            with refusals(path):
                if place(path, data, durable=True, by_way_of=self._spares):
                    added.add(id)
        return added

    def _data(self, path: str) -> bytes | None:
        try:
            descriptor = os.open(path, _FLAGS)
        except OSError as error:
            if error.errno in _NOT_THERE:
                return None
            if error.errno == errno.ELOOP:
                raise BadSpec("it is a symbolic link; a spec is one file under one name") from None
            raise storage_error(error, path) from error
        with open(descriptor, "rb") as file, refusals(path):
            if not modes.S_ISREG(os.fstat(descriptor).st_mode):
                raise BadSpec("it is not a regular file")
            return file.read()


def _can_rename(source: str, target: str) -> bool:
    try:
        return os.stat(source).st_dev == os.stat(target).st_dev
    except OSError:
        return True  # nothing is there to write with, or it says so itself
