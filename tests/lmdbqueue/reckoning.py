"""Transactions that count what is read and written of an environment: entries, not seconds."""

from collections.abc import Iterator
from typing import Any

import pytest

from dibs.queues.lmdb.environment import Environment


class Reckoning:
    """Everything that is asked of LMDB while it is installed."""

    def __init__(self) -> None:
        self.entries = 0
        self.writes = 0  # transactions that may write

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        begin = Environment.enter

        def enter(env: Environment, *, write: bool) -> Any:
            self.writes += write
            return Counted(begin(env, write=write), self)

        monkeypatch.setattr(Environment, "enter", enter)

    def take(self) -> int:
        entries, self.entries = self.entries, 0
        return entries


class Counted:
    """A transaction, or a cursor of one."""

    def __init__(self, inner: Any, reckoning: Reckoning) -> None:
        self._inner = inner
        self._reckoning = reckoning

    def __getattr__(self, name: str) -> Any:
        asked = getattr(self._inner, name)
        if name not in ("get", "put", "delete", "set_range", "next", "prev"):
            return asked

        def counted(*args: Any, **more: Any) -> Any:
            self._reckoning.entries += 1
            return asked(*args, **more)

        return counted

    def cursor(self) -> "Counted":
        return Counted(self._inner.cursor(), self._reckoning)

    def __enter__(self) -> "Counted":
        self._inner.__enter__()
        return self

    def __exit__(self, *how: object) -> None:
        self._inner.__exit__(*how)

    def iternext(self, *args: Any, **more: Any) -> Iterator[Any]:
        for item in self._inner.iternext(*args, **more):
            self._reckoning.entries += 1
            yield item

    def getmulti(self, keys: list[bytes]) -> Any:
        self._reckoning.entries += len(keys)
        return self._inner.getmulti(keys)

    def putmulti(self, items: list[tuple[bytes, bytes]]) -> Any:
        self._reckoning.entries += len(items)
        return self._inner.putmulti(items)
