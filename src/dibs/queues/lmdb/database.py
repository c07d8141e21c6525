"""The queue's environment: each call of `write` is one transaction, done over when the file must grow for it.

With `sync` each transaction's pages are on disk before it counts, so a power cut can undo the last one, and no more;
after one that is `durable` not even that. Without, a power cut may cost the last ones, or the file.
"""

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from dibs.queues.lmdb.environment import Environment, LmdbError, MapFull, drop, forks, refusal, use
from dibs.queues.lmdb.settings import FIRST_BYTES

Answer = TypeVar("Answer")
Transaction = Any  # py-lmdb's
_ROOM = 1 << 20


class Database:
    """Safe for threads and processes, and after a fork."""

    def __init__(self, folder: str, *, sync: bool = True, first_bytes: int = FIRST_BYTES) -> None:
        self.folder = folder
        self.sync = sync
        self._first_bytes = first_bytes
        self._used: tuple[int, Environment | None] = (forks[0], None)
        self._opening = threading.Lock()
        self._env()

    def write(self, step: Callable[[Transaction], Answer], *, durable: bool = False) -> Answer:
        """What `step` returns, once its transaction is committed; nothing has changed when it raises.
        It may be called several times: it must not change anything but the transaction."""
        env = self._env()
        room = _ROOM
        while True:
            try:
                txn = env.enter(write=True)
            except LmdbError as error:
                raise refusal(error, self.folder) from error
            try:
                answer = step(txn)
                txn.commit()
                break
            except MapFull:
                txn.abort()
            except LmdbError as error:
                txn.abort()
                raise refusal(error, self.folder) from error
            except BaseException:
                txn.abort()
                raise
            finally:
                env.leave()
            self._grow(env, room)
            room *= 2
        if self.sync and (durable or not env.sync):  # the second: it was opened without, by others in this process
            self._flush(env)
        return answer

    def read(self, look: Callable[[Transaction], Answer]) -> Answer:
        """What `look` returns. It sees one moment, and holds nobody up."""
        env = self._env()
        try:
            txn = env.enter(write=False)
            try:
                return look(txn)
            finally:
                txn.abort()
                env.leave()
        except LmdbError as error:
            raise refusal(error, self.folder) from error

    @property
    def last(self) -> int:
        """Changes when anybody has changed anything."""
        return self._env().last

    def close(self) -> None:
        fork, env = self._used
        if env is not None and fork == forks[0]:
            self._used = (fork, None)
            drop(env)

    def _grow(self, env: Environment, room: int) -> None:
        try:
            env.grow(room)
        except LmdbError as error:
            raise refusal(error, self.folder) from error

    def _flush(self, env: Environment) -> None:
        try:
            env.flush()
        except LmdbError as error:
            raise refusal(error, self.folder) from error

    def _env(self) -> Environment:
        fork, env = self._used
        if env is not None and fork == forks[0]:
            return env
        if fork != forks[0]:
            self._opening = threading.Lock()  # the other was of the parent process
        with self._opening:
            if self._used[1] is None or self._used[0] != forks[0]:
                self._used = (forks[0], use(self.folder, sync=self.sync, first_bytes=self._first_bytes))
            env = self._used[1]
        assert env is not None
        return env
