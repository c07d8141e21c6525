"""Broken variants of the store on a share."""

from typing import Any

import dibs.stores.shared
from dibs.stores.shared import SharedFileStore

from .share_backend import ShareBackend


class RenamedOnShare(ShareBackend):
    """A record is replaced by renaming another over it: a host that remembers the old file changes that one."""

    backend = "directory-share"

    def seams(self) -> list[tuple[Any, str, Any]]:
        return [*super().seams(), (dibs.stores.shared, "on_share", lambda root: False)]


def _unlinked(self: SharedFileStore, path: str, descriptor: int) -> None:
    dibs.stores.shared.os.unlink(path)


class UnblankedOnShare(ShareBackend):
    """A record is removed with its content: a host that remembers its file still finds a lease in it."""

    backend = "directory-share"
    patches = ((SharedFileStore, "remove", _unlinked),)
