"""Worker sessions: a connection that is held open. When one drops, and is not back within the grace, its worker is
taken for dead: what it claimed goes to others and counts as a death, as when a process is seen to be gone.

Only a session that was seen here can drop. After a restart of the daemon those that live come back by themselves.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

GRACE_SECONDS = 5.0
BEAT_SECONDS = 5.0
MOST_SESSIONS = 10_000


class Sessions:
    """Of one queue. `bury` gives back what a session held."""

    def __init__(self, bury: Callable[[str], Awaitable[None]], grace: float = GRACE_SECONDS) -> None:
        self._bury = bury
        self._grace = grace
        self.dropped: Callable[[str], None] = lambda _: None  # told of each that did not come back
        self.begun = 0  # how often a connection was made, for whoever counts
        self._connected: dict[str, int] = {}
        self._left: set[str] = set()
        self._burying: dict[str, asyncio.Task[None]] = {}
        self._stopping = asyncio.Event()

    @property
    def connected(self) -> int:
        return len(self._connected)

    @property
    def full(self) -> bool:
        return len(self._connected) >= MOST_SESSIONS

    async def hold(self, name: str) -> AsyncGenerator[bytes, None]:
        """Empty lines, for as long as the daemon and the connection live. The caller closes it when it drops."""
        self.begun += 1
        self._connected[name] = self._connected.get(name, 0) + 1
        if (burying := self._burying.pop(name, None)) is not None:
            burying.cancel()
        try:
            while not self._stopping.is_set():
                yield b"\n"
                try:
                    await asyncio.wait_for(self._stopping.wait(), BEAT_SECONDS)
                except TimeoutError:
                    pass
        finally:
            self._drop(name)

    def leave(self, name: str) -> None:
        """It ends in good order: that its connection drops says nothing."""
        if name in self._connected:
            self._left.add(name)
        elif (burying := self._burying.pop(name, None)) is not None:
            burying.cancel()

    def stop(self) -> None:
        self._stopping.set()
        for burying in self._burying.values():
            burying.cancel()

    def _drop(self, name: str) -> None:
        self._connected[name] -= 1
        if self._connected[name] > 0:
            return
        del self._connected[name]
        in_order = name in self._left
        self._left.discard(name)
        if not self._stopping.is_set() and not in_order:
            self._burying[name] = asyncio.get_running_loop().create_task(self._bury_later(name))

    async def _bury_later(self, name: str) -> None:
        await asyncio.sleep(self._grace)
        self._burying.pop(name, None)
        self.dropped(name)
        await self._bury(name)
