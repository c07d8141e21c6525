"""File events of a folder of specs: what the times of the folder do not tell, which is a file written in place.

An event only raises a doubt; what has changed is then read. Where events cannot be had (a limit of the system, a file
system without them) that is said once, tried again now and then, and until then every look is at the files.
"""

import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

from dibs.clock import SYSTEM, Clock
from dibs.serve.cache.listing import KnownListing
from dibs.specs.archive import NAMES
from dibs.specs.ids import SUFFIX

TOGETHER_MS = 40  # events that are told together
STEP_MS = 10
LOOK_MS = 1000  # how often the watch itself is looked at
DOUBT_SECONDS = 30.0  # how often all files are looked at, for an event that was lost
AGAIN_SECONDS = 60.0


class Watcher:
    """Watches `folder` for `files`, in a thread of its own, from `start` to `stop`."""

    def __init__(
        self,
        folder: str,
        files: KnownListing,
        log: Callable[[str], None] = lambda _: None,
        *,
        clock: Clock = SYSTEM,
    ) -> None:
        self._folder = folder
        self._files = files
        self._log = log
        self._clock = clock
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dibs-watching", daemon=True)
        self._told = False

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()

    def join(self) -> None:
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                self._watch()
            except Exception as error:  # the watching library has errors of its own; none may end the answers
                self._say(error)
                self._over.wait(AGAIN_SECONDS)
            finally:
                self._files.watched = False

    def _watch(self) -> None:
        """Until the folder is another, or the end."""
        paths = watched_paths(self._folder)
        place = _inode(self._folder)
        doubted = self._clock.boottime()
        unquiet = False
        for changes in self._events(paths):
            now = self._clock.boottime()
            if self._tell(changes):
                unquiet = True
            elif unquiet or now - doubted >= DOUBT_SECONDS or not self._files.watched:
                self._files.doubt()  # once more when it is quiet: a burst may be more than the system tells
                unquiet, doubted = False, now
            if not self._files.watched:
                self._files.watched = True
                self._recovered()
            if watched_paths(self._folder) != paths or _inode(self._folder) != place:
                self._files.tell(outside=True)
                return

    def _events(self, paths: list[str]) -> Iterator[set[Any]]:
        """Changes as they come, and an empty set every second without any."""
        from watchfiles import watch

        return watch(
            *paths, watch_filter=None, debounce=TOGETHER_MS, step=STEP_MS, rust_timeout=LOOK_MS, yield_on_timeout=True,
            stop_event=self._over, raise_interrupt=False, recursive=False,
        )  # fmt: skip

    def _tell(self, changes: set[Any]) -> bool:
        """Whether there was something to tell."""
        inside, outside = set(), False
        for _, path in changes:
            folder, name = os.path.split(path)
            if folder == self._folder and name.endswith(SUFFIX):
                inside.add(name)
            else:
                outside |= name.endswith(SUFFIX) or name in NAMES
        if inside or outside:
            self._files.tell(inside, outside=outside)
        return bool(inside) or outside

    def _say(self, error: Exception) -> None:
        if not self._told:
            reason = str(error).partition(" about [")[0] or type(error).__name__
            self._log(
                f"no file events for {self._folder} ({reason}): its files are looked at for each list instead; "
                "if it is a limit, raise fs.inotify.max_user_watches"
            )
        self._told = True

    def _recovered(self) -> None:
        if self._told:
            self._log(f"file events for {self._folder} are back")
        self._told = False


def watched_paths(folder: str) -> list[str]:
    """The folder, and those in which its specs are put away, which may have folders of their own."""
    found = [folder]
    for parent in (folder, os.path.dirname(os.path.abspath(folder))):
        for name in NAMES:
            archive = os.path.join(parent, name)
            try:
                with os.scandir(archive) as entries:
                    below = sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
            except OSError:
                continue
            found += [archive, *below]
    return found


def _inode(folder: str) -> int:
    return os.stat(folder).st_ino
