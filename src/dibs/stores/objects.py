"""A store of objects: S3, GCS, Azure and whatever speaks their language, through obstore.

create   PutObject with If-None-Match: *
replace  PutObject with If-Match: the ETag that was seen

The driver repeats nothing on its own. A conditional write without a clear answer is sent again here, the same bytes:
they carry a nonce, so whoever is refused then and finds these very bytes in place has written them before.
So is a refusal that the object itself does not bear out (a 409 among several writers, which only means "again").
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock, Thread, Timer
from typing import Any, TypeVar

from dibs.clock import SYSTEM, Clock
from dibs.errors import StorageError, Unsupported
from dibs.stores.meter import Meter
from dibs.stores.object_errors import trouble
from dibs.stores.store import Changed, Entry, Exists, Unsure, checked

PROBE_SECONDS = 900.0
DISCARD_SECONDS = 2.0
DISCARD_MANY = 100
DISCARD_MOST = 1000  # waiting: whoever adds more waits for their deletion
GONE_MANY = 10_000
PAGE = 1000
T = TypeVar("T")
#: By name: when it was measured, and the store's time less boottime. One for the process, so that all its queues agree.
_OFFSETS: dict[str, tuple[float, float]] = {}


class ObjectStore:
    """Objects below a prefix. Safe for threads. `name` is for people, and holds no secrets."""

    lanes = 16

    def __init__(
        self,
        driver: Any,
        name: str,
        *,
        clock: Clock,
        rng: random.Random,
        prefix: str = "",
        patience: float = 15.0,
        probe: str = "probe",
    ) -> None:
        """`patience`: seconds for which an answer is sought. `probe`: the key by which the store's clock is read."""
        import obstore

        self._obstore = obstore
        self._driver = driver
        self.name = name
        self.meter = Meter()
        self._clock = clock
        self._rng = rng
        self._prefix = f"{prefix}/" if prefix else ""
        self._patience = patience
        self._probe = probe
        self._offsets = _OFFSETS if clock is SYSTEM else {}
        self._lock = Lock()
        self._there: set[str] | None = None
        self._verified = False
        self._discards: list[str] = []
        self._flushing = Lock()
        self._gone: dict[str, None] = {}  # discarded of late: not listed again, whatever the store says

    def get(self, key: str) -> Entry | None:
        path = self._path(key)

        def ask() -> Entry | None:
            self.meter.add("get")
            answer = self._obstore.get(self._driver, path)
            meta = answer.meta
            return Entry(bytes(answer.bytes()), meta["e_tag"], meta["last_modified"].timestamp())

        try:
            return self._asked(ask, f"read {key}")
        except FileNotFoundError:
            return None

    def create(self, key: str, data: bytes) -> str:
        return self._write(key, data, "create", None)

    def replace(self, key: str, data: bytes, version: str) -> str:
        return self._write(key, data, {"e_tag": version}, version)

    def delete(self, key: str) -> bool:
        path = self._path(key)

        def ask() -> None:
            self.meter.add("delete")
            self._obstore.delete(self._driver, path)

        with suppress(FileNotFoundError):
            self._asked(ask, f"delete {key}")
        return True

    def discard(self, key: str) -> None:
        with self._lock:
            self._discards.append(self._path(key))
            self._gone[key] = None
            while len(self._gone) > GONE_MANY:
                del self._gone[next(iter(self._gone))]
            waiting = len(self._discards)
        if waiting == 1:
            timer = Timer(DISCARD_SECONDS, self.flush)
            timer.daemon = True
            timer.start()
        elif waiting == DISCARD_MANY:
            Thread(target=self.flush, daemon=True).start()
        elif waiting >= DISCARD_MOST:
            self.flush()

    def flush(self) -> None:
        """Delete what is waiting to be. What cannot be is left: whoever meets it again deletes it."""
        with self._flushing:
            with self._lock:
                paths, self._discards = self._discards, []
            if paths:
                self.meter.add("delete", -(-len(paths) // DISCARD_MOST))
                with suppress(*self._errors):
                    self._obstore.delete(self._driver, paths)

    def delete_if(self, key: str, version: str) -> None:
        raise Unsupported("objects cannot be deleted on a condition everywhere")

    @contextmanager
    def glanced(self) -> Iterator[None]:
        """Inside, folders that were not there at the start are not looked into again."""
        self._there = set(self.folders(""))
        try:
            yield
        finally:
            self._there = None

    def _missing(self, prefix: str) -> bool:
        there = self._there
        return there is not None and "/" in prefix and prefix.partition("/")[0] not in there

    def list(self, prefix: str, start_after: str = "") -> Iterator[str]:
        if self._missing(prefix):
            return
        folder = prefix[: prefix.rfind("/") + 1]
        offset = self._prefix + max(start_after, prefix) if start_after or prefix != folder else None
        for page in self._pages(self._prefix + folder, offset):
            for meta in page:
                key = meta["path"][len(self._prefix) :]
                if key.startswith(prefix) and key > start_after:
                    if key not in self._gone:
                        yield key
                elif key > prefix and not key.startswith(prefix):
                    return

    def _pages(self, folder: str, offset: str | None) -> Iterator[Any]:
        """A page at a time; one that fails is asked for again from where it stood."""
        stream: Any = None

        def ask() -> Any:
            nonlocal stream
            if stream is None:
                self.meter.add("list")
                stream = self._obstore.list(self._driver, folder.rstrip("/") or None, offset=offset, chunk_size=PAGE)
            try:
                return next(stream, [])
            except self._errors:
                stream = None
                raise

        while page := self._asked(ask, f"list {folder}"):
            yield page
            offset = page[-1]["path"]
            if len(page) == PAGE:  # else it was the last; a store that cuts pages short is counted too low
                self.meter.add("list")

    def folders(self, prefix: str) -> Iterator[str]:
        if self._missing(prefix):
            return iter(())
        path = self._prefix + prefix

        def ask() -> Any:
            self.meter.add("list")
            return self._obstore.list_with_delimiter(self._driver, path.rstrip("/") or None)

        found = self._asked(ask, f"list {prefix or self.name}")
        return iter(sorted(folder[len(path) :].strip("/") for folder in found["common_prefixes"]))

    def now(self) -> float:
        """By the time that the store gives a new object, which is cut to the second: late, never early."""
        now = self._clock.boottime()
        measured, offset = self._offsets.get(self.name, (-PROBE_SECONDS, 0.0))
        if now - measured >= PROBE_SECONDS:
            path = self._path(f"{self._probe}/{self._rng.getrandbits(32):08x}")

            def ask() -> Any:
                self.meter.add("put")
                self._obstore.put(self._driver, path, b"?")
                self.meter.add("get")
                return self._obstore.head(self._driver, path)

            meta = self._asked(ask, "read the clock of")
            now = self._clock.boottime()
            offset = meta["last_modified"].timestamp() - now
            self._offsets[self.name] = (now, offset)
            self.discard(path[len(self._prefix) :])
        return offset + now

    # Asking

    def _path(self, key: str) -> str:
        return self._prefix + checked(key)

    @property
    def _errors(self) -> tuple[type[Exception], ...]:
        from obstore.exceptions import BaseError

        return (BaseError, OSError)

    def _verify(self) -> None:
        """A store that ignores conditions would give every task to everybody: find out before the first write."""
        self._verified = True
        kept = False
        with suppress(Changed):  # replaces nothing: there is no such object
            fresh = f"{self._probe}/{self._rng.getrandbits(64):016x}"
            self._write(fresh, b"?\n", {"e_tag": '"0123456789abcdef0123456789abcdef"'}, "none")
            self._refuse()
        for _ in range(2):  # the first may create it
            try:
                self._write(f"{self._probe}/conditions", f"{self._rng.getrandbits(64):016x}\n".encode(), "create", None)
            except Exists:
                kept = True
                break
        if not kept:
            self._refuse()

    def _refuse(self) -> None:
        self._verified = False
        raise StorageError(
            f"{self.name} ignores the conditions of writes (If-None-Match, If-Match): two workers could hold one "
            "task; use a server that honours them, such as Amazon S3, MinIO, SeaweedFS or Cloudflare R2"
        )

    def _write(self, key: str, data: bytes, mode: Any, version: str | None) -> str:
        if not self._verified:
            self._verify()
        if self._there is not None:
            self._there.add(key.partition("/")[0])
        path = self._path(key)
        again = self._backoff()
        while True:
            self.meter.add("put")
            try:
                answer = self._obstore.put(self._driver, path, data, mode=mode, use_multipart=False)
                return str(answer["e_tag"])
            except self._errors as error:
                found = trouble(error, self.name)
            if found.kind == "refused":
                entry = self.get(key)
                if entry is not None and entry.data == data:
                    return entry.version
                if (entry.version if entry else None) != version:
                    raise Exists(key) if version is None else Changed(key)
            elif found.kind == "absent" and version is not None:
                raise Changed(key)
            elif found.kind in ("absent", "no"):
                raise StorageError(found.text)
            if not next(again, False):
                raise Unsure(found.text)

    def _asked(self, ask: Callable[[], T], what: str) -> T:
        """The answer; asked again while there is none. FileNotFoundError when there is no such object."""
        again = self._backoff()
        while True:
            try:
                return ask()
            except self._errors as error:
                found = trouble(error, self.name)
            if found.kind == "absent":
                raise FileNotFoundError(what)
            if found.kind == "no" or not next(again, False):
                raise StorageError(found.text)

    def _backoff(self) -> Iterator[bool]:
        end = self._clock.boottime() + self._patience
        pause = 0.05
        while self._clock.boottime() < end:
            self._clock.sleep(pause * (0.5 + self._rng.random()))
            pause = min(pause * 2, 3.0)
            yield True
