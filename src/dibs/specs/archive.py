"""Specs that were put away: files of a folder `archive` or `archived`, in the folder of the specs or beside it.

They may lie in folders of their own there, one level deep (by date, say). What was put away is done, and meets
what depends on it, unless the file itself says that it failed or was cancelled. Looked at only for dependencies
that are not among the specs.
"""

import os

from dibs.specs.ids import SUFFIX, fault_of
from dibs.specs.statuses import Status

NAMES = ("archive", "archived")
_GIVEN_UP = (Status.FAILED, Status.NEEDS_ATTENTION, Status.CANCELLED)
_READ_AT_MOST = 1 << 22


class Archive:
    """Of the specs in `folder`, as it is at the first question."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._paths: dict[str, str] | None = None

    def __call__(self, id: str) -> Status | None:  # noqa: A002
        """COMPLETED for what was put away, the status of what was given up before, None for what is not there."""
        if self._paths is None:
            self._paths = self._found()
        path = self._paths.get(id)
        if path is None:
            return None
        from dibs.specs.badspec import BadSpec
        from dibs.specs.fields import values_of

        try:
            with open(path, "rb") as file:
                status = values_of(file.read(_READ_AT_MOST)).get("status")
        except (OSError, BadSpec):
            return Status.COMPLETED
        return status if status in _GIVEN_UP else Status.COMPLETED

    def _found(self) -> dict[str, str]:
        paths: dict[str, str] = {}
        for parent in (self._folder, os.path.join(self._folder, os.pardir)):
            for name in NAMES:
                for below in _collect(os.path.join(parent, name), paths):
                    _collect(below, paths)
        return paths


def _collect(folder: str, paths: dict[str, str]) -> list[str]:
    """Add the specs right in `folder`; its own folders are the answer."""
    below = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                id = entry.name.removesuffix(SUFFIX)  # noqa: A001
                if entry.is_dir(follow_symlinks=False):
                    below.append(entry.path)
                elif id != entry.name and entry.is_file(follow_symlinks=False) and not fault_of(id):
                    paths.setdefault(id, entry.path)
    except OSError:
        return []
    return below
