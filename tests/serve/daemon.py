"""A daemon in a thread of the test process."""

import asyncio
import secrets
import socket
import threading
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from dibs.clock import SYSTEM, Clock
from dibs.queues.queue import Queue
from dibs.serve.app import Door
from dibs.serve.desk import Desk
from dibs.serve.gatehouse import Gatehouse
from dibs.serve.house import House
from dibs.serve.running import Running, listen_tcp, listen_unix
from dibs.serve.tokens import Tokens
from waiting import PATIENCE

TOKEN = f"a-token-for-the-tests-{secrets.token_hex(8)}"  # no other process has it on its command line
READ_TOKEN = "one-that-may-only-look"


class Daemon:
    """Serves the queue called `q` from the moment it is made until `stop`."""

    def __init__(
        self,
        opening: Callable[[], Queue],
        *,
        path: str | None = None,
        clock: Clock = SYSTEM,
        others: Mapping[str, Callable[[], Queue]] = MappingProxyType({}),
        **house: Any,
    ) -> None:
        """`path`: of a Unix socket to listen on as well; `others`: queues besides, by name. What goes to the gatehouse
        begins with `gate_`."""
        gate = {name.removeprefix("gate_"): house.pop(name) for name in list(house) if name.startswith("gate_")}
        self.logged: list[str] = []
        desks = [Desk("q", opening), *(Desk(name, other) for name, other in others.items())]
        self._house = House(desks, clock=clock, **{"log": self.logged.append, **house})
        tcp = listen_tcp("127.0.0.1", 0)
        self.port: int = tcp.getsockname()[1]
        tokens = Tokens(full=(TOKEN,), read=(READ_TOKEN,))
        doors: list[tuple[Door, socket.socket]] = [(Door(self._house, Gatehouse(tokens, **gate)), tcp)]
        if path is not None:
            doors.append((Door(self._house, Gatehouse(None, **gate)), listen_unix(path)))
        self._running = Running(self._house, doors)
        self._started = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._started.wait(PATIENCE)

    @property
    def url(self) -> str:
        return self.url_of("q")

    def url_of(self, name: str) -> str:
        return f"http://127.0.0.1:{self.port}/{name}?token={TOKEN}"

    @property
    def house(self) -> House:
        return self._house

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self._running.serve(self._started.set)

    def stop(self) -> None:
        """At once; safe to call twice."""
        if not self._thread.is_alive():
            return
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._running.stop)
        self._loop.call_soon_threadsafe(self._running.stop)
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
