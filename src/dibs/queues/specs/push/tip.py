"""Spec files at the tip of a remote's branch. A change is a commit of that one file, pushed from exactly that tip.

Nothing passes through the user's working tree: what is staged, unsaved, diverged or half rebased there plays no part.
When the push is through, the user's branch follows if that is entirely safe, and stays where it is if not.
"""

import random
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from threading import Lock
from typing import Any

from dibs.clock import Clock
from dibs.errors import StorageError
from dibs.git import objects
from dibs.git.branch import Branch, File
from dibs.queues.specs.pages import Page
from dibs.specs.badspec import BadSpec
from dibs.specs.cache import Entry, Snapshot
from dibs.specs.frontmatter import edit
from dibs.specs.ids import SUFFIX, fault_of
from dibs.specs.listing import Listing
from dibs.specs.reading import broken, parsed
from dibs.specs.spec import from_bytes
from dibs.stores.store import Changed, Unsure

MINE_FIRST = 50  # commits of others that may come first, one after another
REFUSALS = 4  # of a remote that says no for another reason, before it is believed
PAUSE_SECONDS = 0.05
REMEMBERED = 10_000
_LINK = "120000"
_VERBS = {"in_progress": "claim", "completed": "complete", "failed": "fail", "cancelled": "cancel", "pending": "free"}


class TipPages:
    """Safe for threads. `folder` is where the files are in the user's working tree, for those who want to open them."""

    def __init__(self, branch: Branch, folder: str, clock: Clock, rng: random.Random) -> None:
        self.folder = folder
        self._branch = branch
        self._clock = clock
        self._rng = rng
        self._lock = Lock()
        self._tip: str | None = None
        self._files: dict[str, File] = {}
        self._entries: dict[str, Entry] = {}  # by blob
        self._looked = False
        self._data: dict[str, bytes] = {}  # of blobs read or written lately

    def path(self, id: str) -> str:  # noqa: A002
        return f"{self.folder}/{id}{SUFFIX}"

    def refresh(self) -> None:
        """Look at the remote."""
        with self._lock:
            self._fetch()

    def _fetch(self) -> None:
        tip = self._branch.fetch()
        if tip != self._tip or not self._looked:
            files = self._branch.files(tip) if tip else {}
            self._files = {name: file for name, file in files.items() if _is_spec(name)}
            self._tip, self._looked = tip, True

    def listing(self) -> Listing:
        with self._lock:
            self._fetch()
            files = self._files
            fresh = [file.id for file in files.values() if file.id not in self._entries and file.mode != _LINK]
            read = self._read(fresh)
            self._entries = {
                file.id: parsed(read[file.id]) if file.id in read else self._entries[file.id]
                for file in files.values()
                if file.mode != _LINK
            }
            entries = {name: self._entries.get(file.id) or _LINKED for name, file in files.items()}
        return Listing(self.folder, Snapshot.of(entries))

    def _read(self, blobs: list[str]) -> dict[str, bytes]:
        known = {blob: data for blob in blobs if (data := self._data.get(blob)) is not None}
        known |= self._branch.read(blob for blob in blobs if blob not in known)
        self._remember(known)
        return known

    def _remember(self, data: dict[str, bytes]) -> None:
        self._data = {**(self._data if len(self._data) < REMEMBERED else {}), **data}

    def read(self, id: str) -> Page | None:  # noqa: A002
        """As of the last look."""
        if not self._looked:
            self.refresh()
        file = self._files.get(id + SUFFIX)
        if file is None or fault_of(id):
            return None
        if file.mode == _LINK:
            raise BadSpec(_A_LINK)
        data = self._read([file.id])[file.id]
        return Page(from_bytes(id, self.path(id), data), data)

    def change(self, page: Page, changes: Mapping[str, Any]) -> Page:
        data = edit(page.data, dict(changes))
        if data == page.data:
            return page
        name, before = page.spec.id + SUFFIX, self._id_of(page.data)

        def still() -> dict[str, bytes]:
            file = self._files.get(name)
            if file is None or file.id != before:
                raise Changed(name)
            return {name: data}

        verb = "prioritise" if "priority" in changes else _VERBS.get(str(changes.get("status")), "renew")
        self._publish(still, f"dibs: {verb} {page.spec.id}")
        return Page(from_bytes(page.spec.id, page.spec.path, data), data)

    def add(self, pages: Iterable[tuple[str, bytes]]) -> set[str]:
        """In one commit."""
        wanted: dict[str, bytes] = {}
        for id, data in pages:  # noqa: A001
            wanted.setdefault(id + SUFFIX, data)

        def missing() -> dict[str, bytes]:
            return {name: data for name, data in wanted.items() if name not in self._files}

        ids = [name.removesuffix(SUFFIX) for name in wanted]
        added = self._publish(missing, f"dibs: add {ids[0] if len(ids) == 1 else f'{len(ids)} specs'}")
        return {name.removesuffix(SUFFIX) for name in added}

    def _publish(self, wanted: Callable[[], dict[str, bytes]], message: str) -> set[str]:
        """The names of what was written. `wanted` is asked again whenever somebody else's commit came first."""
        with self._lock:
            if not self._looked:
                self._fetch()
            refused = 0
            for _ in range(MINE_FIRST):
                files = wanted()
                if not files:
                    return set()
                try:
                    self._tip = self._pushed(files, message)
                    break
                except Changed:
                    self._clock.sleep(PAUSE_SECONDS * self._rng.random())
                except Unsure:
                    raise
                except StorageError:
                    refused += 1
                    if refused >= REFUSALS:
                        raise
                    self._clock.sleep(PAUSE_SECONDS * 4**refused * (0.5 + self._rng.random()))
                self._fetch()
            else:
                raise StorageError(f"{self._branch.name!r} changes too fast to get a commit in: {message}; try again")
            mode = {name: file.mode for name, file in self._files.items()}
            written = {name: File(mode.get(name, "100644"), self._id_of(data)) for name, data in files.items()}
            self._remember({written[name].id: data for name, data in files.items()})
            self._files = {**self._files, **written}
            self._branch.catch_up(self._tip)
            return set(files)

    def _pushed(self, files: dict[str, bytes], message: str) -> str:
        try:
            return self._branch.publish(self._tip, files, message)
        except Unsure as error:
            commit = str(getattr(error, "commit", ""))
            with suppress(StorageError):
                if commit and self._branch.holds(commit):
                    return commit
            raise

    def _id_of(self, data: bytes) -> str:
        return objects.made("blob", data, self._branch.repository.hash).id


_A_LINK = "it is a symbolic link; a spec is one file under one name"
_LINKED = broken(None, _A_LINK)


def _is_spec(name: str) -> bool:
    return name.endswith(SUFFIX) and name[0] != "." and name.lower() != "readme.md" and "/" not in name
