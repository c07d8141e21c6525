"""A store in an LMDB environment: many processes of one host, every step a transaction.

`together` makes one transaction of all that a thread does inside: one sync for many steps. It begins with the first
write; what was read before may be old by then, which every compare-and-set finds out. Steps stay what they are, so the
transaction may also be committed early (when the map must grow) and is committed, not undone, on an error.

With `sync` a write that returned survives a power cut. Without, a power cut may cost the last writes, or the store.
"""

import hashlib
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dibs.clock import SYSTEM, Clock
from dibs.errors import BadInput
from dibs.stores.lmdb_environment import FIRST_MAP, Environment, LmdbError, drop, refusal, use
from dibs.stores.store import Changed, Entry, Exists, checked

Transaction = Any  # py-lmdb's
Names = list[str]
PAGE = 1000
_MAX_KEY = 511
_SPARE = 4 << 20
_STEP = 16 << 10  # what a write may cost besides its data: pages are copied


class Mine(threading.local):
    """What a thread is in the middle of."""

    depth = 0
    txn: Transaction = None
    room = 0


class LmdbStore:
    """Safe for threads and processes, and after a fork."""

    lanes = 1

    def __init__(self, folder: str, *, clock: Clock = SYSTEM, sync: bool = True, map_bytes: int = FIRST_MAP) -> None:
        self.folder = folder
        self._clock = clock
        self._sync = sync
        self._map_bytes = map_bytes
        self._used: tuple[int, Environment | None] = (0, None)
        self._opening = threading.Lock()
        self._mine = Mine()
        self._env()

    def get(self, key: str) -> Entry | None:
        name = _name(key)
        env = self._env()
        txn = self._mine.txn
        try:
            if txn is not None:
                data = txn.get(name)
            else:
                txn = env.enter(write=False)
                try:
                    data = txn.get(name)
                finally:
                    txn.abort()
                    env.leave()
        except LmdbError as error:
            raise refusal(error, self.folder) from error
        return None if data is None else Entry(data, version_of(data))

    def create(self, key: str, data: bytes) -> str:
        name = _name(checked(key))
        txn = self._begun(len(data))
        with self._guarded():
            if not txn.put(name, data, overwrite=False):
                raise Exists(key)
        return version_of(data)

    def replace(self, key: str, data: bytes, version: str) -> str:
        name = _name(key)
        txn = self._begun(len(data))
        with self._guarded():
            _expect(txn, name, version)
            txn.put(name, data)
        return version_of(data)

    def delete(self, key: str) -> bool:
        name = _name(key)
        txn = self._begun(0)
        with self._guarded():
            return bool(txn.delete(name))

    def discard(self, key: str) -> None:
        self.delete(key)

    def delete_if(self, key: str, version: str) -> None:
        name = _name(key)
        txn = self._begun(0)
        with self._guarded():
            _expect(txn, name, version)
            txn.delete(name)

    def list(self, prefix: str, start_after: str = "") -> Iterator[str]:
        start, after = prefix.encode(), start_after.encode()
        while True:
            page = self._page(start, after)
            yield from page
            if len(page) < PAGE:
                return
            after = page[-1].encode()

    def folders(self, prefix: str) -> Iterator[str]:
        within = prefix.encode()
        start = within
        while True:
            with self._reading() as txn:
                name = _first(txn, start, within)
            if name is None:
                return
            part, slash, _ = name[len(within) :].partition(b"/")
            if slash:
                yield part.decode()
                start = within + part + b"0"  # sorts behind everything in this folder
            else:
                start = name + b"\0"

    def now(self) -> float:
        return self._clock.wall()

    def close(self) -> None:
        pid, env = self._used
        if env is not None and pid == os.getpid():
            self._used = (0, None)
            drop(env)

    @contextmanager
    def together(self) -> Iterator[None]:
        """One transaction of all steps of this thread inside. May be nested: the outermost counts."""
        self._env()
        mine = self._mine
        if mine.depth:
            yield
            return
        mine.depth = 1
        try:
            yield
        finally:
            mine.depth = 0
            if mine.txn is not None:
                self._commit()

    # Transactions

    def _page(self, prefix: bytes, after: bytes) -> Names:
        found: Names = []
        with self._reading() as txn, txn.cursor() as cursor:
            if cursor.set_range(max(prefix, after)):
                for name in cursor.iternext(keys=True, values=False):
                    if not name.startswith(prefix) or len(found) == PAGE:
                        break
                    if name > after:
                        found.append(name.decode())
        return found

    @contextmanager
    def _reading(self) -> Iterator[Transaction]:
        env = self._env()
        own = self._mine.txn
        try:
            if own is not None:
                yield own
                return
            txn = env.enter(write=False)
            try:
                yield txn
            finally:
                txn.abort()
                env.leave()
        except LmdbError as error:
            raise refusal(error, self.folder) from error

    def _guarded(self) -> "Step":
        return Step(self)

    def _begun(self, size: int) -> Transaction:
        """This thread's write transaction, with room for so much."""
        env = self._env()
        mine = self._mine
        wanted = size * 2 + _SPARE
        try:
            while True:
                if mine.txn is None:
                    mine.txn = env.enter(write=True)
                    mine.room = env.room()
                if mine.room >= wanted:
                    mine.room -= size * 2 + _STEP
                    return mine.txn
                self._commit()
                env.grow(wanted)
        except LmdbError as error:
            raise refusal(error, self.folder) from error

    def _commit(self) -> None:
        txn, self._mine.txn = self._mine.txn, None
        try:
            txn.commit()
        except LmdbError as error:
            raise refusal(error, self.folder) from error
        finally:
            self._env().leave()

    def _env(self) -> Environment:
        pid, env = self._used
        if env is None or pid != os.getpid():
            if pid not in (0, os.getpid()):
                self._opening, self._mine = threading.Lock(), Mine()  # those were of the parent process
            with self._opening:
                if self._used[1] is None or self._used[0] != os.getpid():
                    self._used = (os.getpid(), use(self.folder, sync=self._sync, map_bytes=self._map_bytes))
                env = self._used[1]
        assert env is not None
        return env


class Step:
    """The end of one write: committed, unless it is one of several together. Written out: it is the hot one."""

    __slots__ = ("_store",)

    def __init__(self, store: LmdbStore) -> None:
        self._store = store

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        store = self._store
        if not store._mine.depth:
            store._commit()
        if kind is not None and issubclass(kind, LmdbError):
            raise refusal(error, store.folder) from error


def version_of(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=12).hexdigest()


def _name(key: str) -> bytes:
    name = key.encode()
    if not 0 < len(name) <= _MAX_KEY:
        raise BadInput(f"store key {key[:40]!r}… has {len(name)} bytes; LMDB takes 1 to {_MAX_KEY}")
    return name


def _expect(txn: Transaction, name: bytes, version: str) -> None:
    data = txn.get(name)
    if data is None or version_of(data) != version:
        raise Changed(name.decode())


def _first(txn: Transaction, start: bytes, prefix: bytes) -> bytes | None:
    with txn.cursor() as cursor:
        if not (cursor.set_range(start) if start else cursor.first()):
            return None
        name: bytes = cursor.key()
    return name if name.startswith(prefix) else None
