"""One queue's index. It is brought in step with the queue before it answers, so what is found is as it is now; what
keeps it in step meanwhile only makes that quicker. An index that is gone or damaged is made again from the queue.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from sys import intern
from typing import Any, TypeVar

from dibs.clock import SYSTEM, Clock
from dibs.errors import StorageError, TaskNotFound
from dibs.queues.queue import Queue
from dibs.serve.masking import NOTHING_HIDDEN, Masking
from dibs.serve.search.asking import Asked
from dibs.serve.search.index import Damaged, Hit, Index
from dibs.serve.search.shelf import Shelf
from dibs.serve.search.sources import Change, Source
from dibs.stores.refusal import storage_error

TOGETHER = 100  # tasks put at once, before others get their turn
COMMIT_EVERY = 20_000  # tasks, so that a build that is broken off is not lost
TRIES = 3
T = TypeVar("T")
Share = Callable[[], float]


class Stopped(Exception):
    """The daemon stops: what is half done is done again at the next start."""


class Keeping:
    """Safe for threads. `patience`: seconds that a search waits for an index in the making; None is for ever."""

    def __init__(
        self,
        queue: Queue,
        source: Source,
        shelf: Shelf,
        *,
        patience: float | None = None,
        log: Callable[[str], None] = lambda _: None,
        clock: Clock = SYSTEM,
        mask: Masking = NOTHING_HIDDEN,
    ) -> None:
        self._queue = queue
        self._mask = mask
        self._source = source
        self._shelf = shelf
        self._patience = patience
        self._log = log
        self._clock = clock
        self._lock = threading.Lock()
        self._index: Index | None = None
        self._known: dict[str, str] = {}
        self._uncommitted = 0
        self._asking = 0
        self._asking_lock = threading.Lock()
        self._hurry = threading.Event()  # somebody waits for the index
        self._over = False

    def find(self, asked: Asked) -> dict[str, Any]:
        """BadInput when the query cannot be read, StorageError while the index is in the making for long."""
        with self._hurried():
            if not self._lock.acquire(timeout=-1 if self._patience is None else self._patience):
                raise StorageError(f"the search index is being made ({len(self._known):,} tasks so far); ask again")
            try:
                found = self._sure(lambda index, _: index.search(asked))
            finally:
                self._lock.release()
        return {"found": found.total, "tasks": [one for hit in found.hits if (one := self._shown(hit))]}

    def keep(self, share: Share = lambda: 1.0) -> float:
        """Bring it in step while nobody asks, in at most that share of the time. How many seconds it worked."""
        with self._lock:
            return self._sure(lambda index, worked: worked, share)

    def stop(self) -> None:
        self._over = True
        self._hurry.set()

    def close(self) -> None:
        self.stop()
        with self._lock:
            if self._index is not None:
                with suppress(Damaged):
                    self._index.close()
                self._index = None
            self._shelf.close()

    def _sure(self, act: Callable[[Index, float], T], share: Share = lambda: 1.0) -> T:
        """`act` on an index that is in step; when it turns out to be damaged, on one that is made anew."""
        tries = 0
        while True:
            try:
                index = self._opened()
                return act(index, self._in_step(index, share))
            except Damaged as error:
                tries += 1
                if tries >= TRIES:
                    raise StorageError(f"the search index cannot be kept: {error}; look at the disk") from None
                if tries == TRIES - 1:
                    self._shelf.give_up()
                where = "" if self._shelf.held else " in memory"
                self._log(f"the search index of {self._queue.address} is made again{where}: {error}")
                self._drop()
            except OSError as error:  # of the queue's files
                raise storage_error(error, self._queue.address) from error

    def _opened(self) -> Index:
        if self._over:
            raise Stopped
        if self._index is None:
            index = self._shelf.open()
            try:
                self._known = index.signatures()
            except Damaged:
                index = self._shelf.anew()
                self._known = {}
            self._source.forget()
            self._index = index
        return self._index

    def _drop(self) -> None:
        index, self._index, self._known, self._uncommitted = self._index, None, {}, 0
        if index is not None:
            with suppress(Damaged):
                index.close()
        self._index = self._shelf.anew()
        self._source.forget()

    def _in_step(self, index: Index, share: Share) -> float:
        begun = self._clock.boottime()
        rested = 0.0
        for number, change in enumerate(self._source.changes(self._known), 1):
            self._apply(index, change)
            if self._uncommitted >= COMMIT_EVERY:
                self._commit(index)
            if number % TOGETHER == 0:
                rested += self._rest(begun, rested, share)
        if self._uncommitted:
            self._commit(index)
        return self._clock.boottime() - begun - rested

    def _commit(self, index: Index) -> None:
        index.commit()
        self._uncommitted = 0

    def _apply(self, index: Index, change: Change) -> None:
        self._uncommitted += 1
        if change.words is None:
            index.remove(change.id)
            self._known.pop(change.id, None)
        else:
            index.put(change.signature, change.words, again=change.id in self._known)
            self._known[change.id] = intern(change.signature)  # of a million tasks few differ

    def _rest(self, begun: float, rested: float, share: Share) -> float:
        """Leave the rest of the time to others, unless somebody waits for this."""
        if self._over:
            raise Stopped
        part = 1.0 if self._hurry.is_set() else share()
        now = self._clock.boottime()
        wanted = (now - begun - rested) * (1 / part - 1) - rested
        if wanted <= 0:
            return 0.0
        self._hurry.wait(wanted)
        return self._clock.boottime() - now

    @contextmanager
    def _hurried(self) -> Iterator[None]:
        with self._asking_lock:
            self._asking += 1
            self._hurry.set()
        try:
            yield
        finally:
            with self._asking_lock:
                self._asking -= 1
                if not self._asking and not self._over:
                    self._hurry.clear()

    def _shown(self, hit: Hit) -> dict[str, Any] | None:
        if hit.shown is not None:
            task = json.loads(hit.shown)
        else:
            try:
                task = self._mask.record(self._queue.get(hit.id).to_json())
            except TaskNotFound:
                return None  # it has just been removed
        return {"score": hit.score, "task": task}
