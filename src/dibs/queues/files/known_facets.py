"""The facets of a file queue: `facets/<code>` says what a code in a task's name stands for.

It is there before the first name that has the code.
"""

from collections.abc import Iterable

from dibs.facets import Facet
from dibs.queues.files.fs import Fs
from dibs.queues.files.layout import Layout


class KnownFacets:
    def __init__(self, fs: Fs, layout: Layout, *, sync: bool) -> None:
        self._fs = fs
        self._layout = layout
        self._sync = sync
        self._registered: set[str] = set()

    def register(self, facets: Iterable[Facet], scratch: str) -> set[str]:
        """Returns the folders written to, for syncing. `scratch`: a name in tmp/ that nobody else writes to."""
        folder = self._layout.folder("facets")
        touched = set()
        for facet in set(facets):
            code = facet.code
            if "-" not in code or code in self._registered:
                continue
            if not self._fs.exists(f"{folder}/{code}"):
                written = self._layout.scratch(scratch)
                self._fs.write(written, facet.to_bytes(), sync=self._sync)
                self._fs.rename(written, f"{folder}/{code}")
            touched.add(folder)  # even if another pusher wrote it: it may not have synced it yet
            self._registered.add(code)
        return touched
