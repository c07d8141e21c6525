"""Worker sessions: a connection that is held open. When one drops, and is not back within the grace, its worker is
taken for dead: what it claimed goes to others and counts as a death, as when a process is seen to be gone.

Only a session that was seen here can drop. After a restart of the daemon those that live come back by themselves; those
that the journal knows and that do not are dropped too.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

from dibs.serve.journal import Journal
from dibs.serve.signs import Seen

GRACE_SECONDS = 5.0
RETURN_SECONDS = 5.0  # the least that workers get to find a daemon that was started again: they try each second
BEAT_SECONDS = 5.0
MOST_SESSIONS = 10_000


class Sessions:
    """Of one queue. `missed` looks at what a session that dropped holds, and `bury`, told what was seen, gives it back;
    False when the worker is not dead."""

    def __init__(
        self,
        missed: Callable[[str], Awaitable[Seen]],
        bury: Callable[[str, Seen], Awaitable[bool]],
        grace: float = GRACE_SECONDS,
    ) -> None:
        self._missed = missed
        self._bury = bury
        self._journal: Journal | None = None
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

    def keep(self, journal: Journal) -> None:
        """Note there who comes and goes, and expect those who were here before."""
        self._journal = journal
        for name in journal.before.seen & set(journal.before.sessions.values()):
            self._bury_after(name, max(self._grace, RETURN_SECONDS), expected=True)

    def here(self, name: str) -> bool:
        return name in self._connected

    async def hold(self, name: str) -> AsyncGenerator[bytes, None]:
        """Empty lines, for as long as the daemon and the connection live. The caller closes it when it drops."""
        self.begun += 1
        self._connected[name] = self._connected.get(name, 0) + 1
        if (burying := self._burying.pop(name, None)) is not None:
            burying.cancel()
        if self._journal is not None:
            self._journal.connected(name)
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
        if self._stopping.is_set():
            return
        if self._journal is not None:
            self._journal.hung_up(name)
        if not in_order:
            self._bury_after(name, self._grace)

    def _bury_after(self, name: str, seconds: float, *, expected: bool = False) -> None:
        self._burying[name] = asyncio.get_running_loop().create_task(self._bury_later(name, seconds, expected))

    async def _bury_later(self, name: str, seconds: float, expected: bool) -> None:
        """`expected`: by the journal, which may know of claims that are over: who holds nothing may have left."""
        seen = await self._missed(name)
        await asyncio.sleep(seconds)
        self._burying.pop(name, None)
        if await self._bury(name, seen) and (seen or not expected):
            self.dropped(name)
