"""The real file system, with a server clock that a manual clock moves."""

from dibs.queues.files.fs import LocalFs
from dibs.testing import ManualClock


class ShiftedFs(LocalFs):
    """Files get the server's time plus what the clock was moved by when they were written or renamed.

    The shifts are shared by all queues on one clock, so that each sees the times of what the others did.
    """

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._shifts: dict[str, float] = clock.__dict__.setdefault("shifts", {})

    def rename(self, source: str, target: str) -> None:  # type: ignore[override]
        super().rename(source, target)
        self._shifts[target] = self._clock.advanced

    def write(self, path: str, data: bytes, *, sync: bool = False) -> None:
        super().write(path, data, sync=sync)
        self._shifts[path] = self._clock.advanced

    def mark(self, path: str, data: bytes) -> bool:
        made = super().mark(path, data)
        if made:
            self._shifts[path] = self._clock.advanced
        return made

    def times(self, path: str) -> tuple[float, float]:
        written, renamed = super().times(path)
        shift = self._shifts.get(path, 0.0)
        return written + shift, renamed + shift

    def server_time(self, scratch: str) -> float:
        now = super().server_time(scratch) + self._clock.advanced
        self._shifts[scratch] = self._clock.advanced
        return now
