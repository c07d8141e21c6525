"""When written files reach the disk: each on its own, or a batch together, or whenever the system likes."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

FEW = 4


class Syncing:
    """A file is safe once its content and its folder's entry are synced; a new folder once its parent is."""

    def __init__(self, on: bool) -> None:
        self._on = on
        self._local = threading.local()

    def content(self, descriptor: int) -> None:
        if self._on and self._batch is None:
            os.fsync(descriptor)

    def entry(self, path: str) -> None:
        if not self._on:
            return
        if self._batch is None:
            sync(os.path.dirname(path))
        else:
            self._batch.append(path)

    def folder(self, path: str) -> None:
        if self._on:
            sync(os.path.dirname(path))

    @contextmanager
    def together(self) -> Iterator[None]:
        """What this thread writes inside is synced at the end, also when it ends with an error."""
        if self._batch is not None:
            yield
            return
        self._local.batch = []
        try:
            yield
        finally:
            written, self._local.batch = self._local.batch, None
            if len(written) > FEW:
                sync_file_system(os.path.dirname(written[0]))
            else:
                for path in (*written, *sorted({os.path.dirname(path) for path in written})):
                    sync(path)

    @property
    def _batch(self) -> list[str] | None:
        batch: list[str] | None = getattr(self._local, "batch", None)
        return batch


def sync(path: str) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return  # replaced or deleted meanwhile: whoever did so has synced what counts now
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file_system(path: str) -> None:
    """Everything written so far to the file system of `path` is on disk: one call for any number of files."""
    import ctypes  # slow to import, and only batches need it

    syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if syncfs is None:
        os.sync()
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if syncfs(descriptor) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), path)
    finally:
        os.close(descriptor)
