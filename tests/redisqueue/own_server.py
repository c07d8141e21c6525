"""A Redis server that a test may kill and start again, with what it has on disk."""

from contextlib import ExitStack
from pathlib import Path

from servers import ports, redis_server


class OwnServer:
    def __init__(self, folder: Path, *settings: str) -> None:
        self._folder = folder / "redis"
        self._folder.mkdir()
        self._settings = settings
        self._running: ExitStack | None = None
        self.port = ports.free()

    def start(self) -> None:
        self._running = ExitStack()
        self._running.enter_context(redis_server.running(self._folder, self.port, *self._settings))

    def kill(self) -> None:
        """With SIGKILL."""
        if self._running is not None:
            self._running.close()
            self._running = None

    def url(self, queue: str = "q", *, user: str = "", settings: str = "&warn=off") -> str:
        return f"redis://{user}127.0.0.1:{self.port}/0?queue={queue}{settings}"
