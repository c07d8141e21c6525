"""First pages of lists, as they were written, kept for as long as nothing that they were made from has changed.

A page is made twice by looking at the folders and tasks, as any list is. When nothing had to be listed again the
folders are watched, and it is made once more: from then on the kernel is asked whether there was a change (`quiet`),
which takes one call instead of a hundred. The first change ends all that: a queue in which much happens is looked at
each time. So does the time at which the next task is due; these are local files, whose clock is this host's.
"""

import threading
from contextlib import suppress

from dibs.serve.cache.chosen import Chosen
from dibs.serve.cache.files import KnownFiles
from dibs.serve.cache.quiet import Quiet, trusted
from dibs.serve.cache.written import Page, Written
from dibs.states import State

MOST_PAGES = 64
MOST_FOLDERS = 1_000
Asked = tuple[Chosen, int]
_BY_TIME = (None, State.READY, State.SCHEDULED)  # lists that change when something is due


class Pages:
    """Of one `file:` queue. Safe to use from several threads; whoever would have to wait makes his own page."""

    def __init__(self, look: KnownFiles, written: Written) -> None:
        self._look = look
        self._written = written
        self._root = look.root
        self._lock = threading.Lock()
        self._trusted = trusted(self._root)
        self._quiet: Quiet | None = None
        self._kept: dict[Asked, tuple[Page, float]] = {}  # and until when, by the clock
        self._unchanged: dict[Asked, set[str]] = {}  # lists that were made from what was known, and their folders

    def known(self, chosen: Chosen, size: int) -> Page | None:
        """It takes one call, so it may be asked in the event loop."""
        if not self._kept or not self._lock.acquire(blocking=False):
            return None
        try:
            page, until = self._kept.get((chosen, size), (None, 0.0))
            return page if page is not None and self._look.wall() < until and self._still() else None
        finally:
            self._lock.release()

    def make(self, chosen: Chosen, size: int) -> Page:
        if not self._trusted or not self._lock.acquire(blocking=False):
            return self._page(chosen, size)
        try:
            return self._make(chosen, size)
        finally:
            self._lock.release()

    def _make(self, chosen: Chosen, size: int) -> Page:
        asked, folders = (chosen, size), self._look.folders
        watched = asked in self._unchanged and self._watch(self._unchanged[asked])
        folders.asked, before = set(), folders.listed
        until = (
            self._look.holds_until() if chosen.state in _BY_TIME else float("inf")
        )  # what that looks at is watched too
        page = self._page(chosen, size)
        if folders.listed != before or len(folders.asked) > MOST_FOLDERS:
            self._unchanged.pop(asked, None)
            return page
        if len(self._unchanged) >= MOST_PAGES:
            self._forget()
        self._unchanged[asked] = folders.asked
        if watched and self._quiet is not None and folders.asked <= self._quiet.folders:
            self._kept[asked] = (page, until)  # whoever asks for it asks whether there was a change since
        return page

    def _page(self, chosen: Chosen, size: int) -> Page:
        return self._written.page(chosen.listed(self._look), size)

    def _watch(self, folders: set[str]) -> bool:
        try:
            if self._quiet is None:
                self._quiet = Quiet(self._root)
            for folder in folders:
                self._quiet.watch(folder)
            if len(self._quiet.folders) <= MOST_FOLDERS:
                return True
        except OSError:  # a limit of the system, or a folder is gone
            pass
        self._forget()
        return False

    def _still(self) -> bool:
        with suppress(OSError):
            if self._quiet is not None and self._quiet.still():
                return True
        self._forget()
        return False

    def _forget(self) -> None:
        self._kept.clear()
        self._unchanged.clear()
        if self._quiet is not None:
            self._quiet.close()
            self._quiet = None

    def close(self) -> None:
        with self._lock:
            self._forget()
