"""Known ways to get the index wrong. Each must be caught by the violation that it leads to."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from tests.index.cast import Company
from tests.simulation.cloud import SimStore

from dibs.errors import StorageError
from dibs.index import compactor as compacting
from dibs.index.block import Block, pack
from dibs.index.compactor import Compactor
from dibs.index.inbox import Inbox
from dibs.index.layout import file_of, inbox_of
from dibs.index.manifest import lines_told
from dibs.index.merge import Merged
from dibs.index.parts import Part, open_part
from dibs.index.reading import Reader
from dibs.index.site import Site
from dibs.stores.store import Changed, Entry, Exists


class ReadThenWriteLock(Company):
    """The lock is looked at, found free, and then written."""

    class locks_class(SimStore):  # noqa: N801
        def create(self, key: str, data: bytes) -> str:
            if self.get(key) is not None:
                raise Exists(key)
            return self.put(key, data)

        def replace(self, key: str, data: bytes, version: str) -> str:
            entry = self.get(key)
            if entry is None or entry.version != version:
                raise Changed(key)
            return self.put(key, data)


@contextmanager
def delete_by_key() -> Iterator[None]:
    """After the merge the shard's inbox is emptied, whatever is in it by then."""

    def merged(self: Inbox, shard: str, names: Iterable[str]) -> None:
        for path in list(self._site.store.list(inbox_of(shard))):
            self._site.store.discard(path)

    with patch.object(Inbox, "merged", merged):
        yield


@contextmanager
def missing_if_match() -> Iterator[None]:
    """The shard is written whatever is there by then."""

    def write(self: Compactor, path: str, version: str | None, data: bytes, held: Any) -> None:
        self._site.store.put(path, data)  # type: ignore[attr-defined]

    with patch.object(Compactor, "_write", write):
        yield


@contextmanager
def arrival_order() -> Iterator[None]:
    """What comes later to the shard wins, whatever its time."""
    with patch.object(Site, "rule", property(lambda site: lambda old, new: new)):
        yield


@contextmanager
def cleaned_first() -> Iterator[None]:
    """The inbox is emptied before the shard is written."""
    write = Compactor._write

    def cleaned(self: Compactor, path: str, version: str | None, data: bytes, held: Any) -> str | None:
        shard = path.removeprefix("shards/").removesuffix(".usv")
        self._inbox.merged(shard, self._inbox.names(shard))
        return write(self, path, version, data, held)

    with patch.object(Compactor, "_write", cleaned):
        yield


@contextmanager
def appended() -> Iterator[None]:
    """The inbox is added to the shard: right until somebody dies between writing and cleaning up."""

    def merged(shard: Block | None, updates: dict[bytes, bytes], fields: Any, rule: Any, nonce: str) -> Merged:
        lines = sorted([*(shard.all() if shard else ()), *updates.values()])
        return Merged(pack(fields, lines, nonce), len(lines), 0)

    with patch.object(compacting, "merged", merged):
        yield


@contextmanager
def shard_first() -> Iterator[None]:
    """Readers read the shard, then the inbox: what is moved in between is in neither."""

    def parts(self: Reader, shard: str, *, whole: bool = False) -> Iterator[Part]:
        site, path = self._site, file_of(shard)
        entry = site.store.get(path)
        for name, data in self._inbox.read(shard).items():
            yield open_part(site, name, shard, data)
        if entry is not None:
            yield open_part(site, path, shard, entry.data)
        elif whole:
            yield Part(Block(site.schema.fields, b"", 0, 0, 0), None)

    with patch.object(Reader, "_parts", parts):
        yield


@contextmanager
def alarmed() -> Iterator[None]:
    """Readers look for the shard once, and then at the manifest: it was written in between."""

    def stored(self: Reader, shard: str) -> Entry | StorageError | None:
        found = self._site.read(file_of(shard))
        if found is None and lines_told(self._site, shard):
            return StorageError(f"{file_of(shard)} is gone or empty")
        return found

    with patch.object(Reader, "_stored", stored):
        yield


@contextmanager
def forgetful() -> Iterator[None]:
    """Readers believe an old listing, though they have seen more."""

    def names(self: Inbox, shard: str) -> Sequence[str]:
        return list(self._site.store.list(inbox_of(shard)))

    with patch.object(Inbox, "names", names):
        yield
