"""Which steps are done in the event loop itself. On local files a step is one rename; a hop to a thread and back costs
several times that. A step that has turned slow (a disk that stalls) goes to a thread for a while.
"""

from dibs.clock import Clock
from dibs.mounts import is_local
from dibs.queues.files.queue import FilesQueue
from dibs.queues.memory import MemoryQueue
from dibs.queues.queue import Queue

SLOW_SECONDS = 0.002
_TOO_MANY = 3.0  # slow ones; a quick one makes up for a part of one, since any step can meet a busy processor
_MAKES_UP = 0.25
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0


class Pace:
    """Of one queue, by step."""

    def __init__(self, queue: Queue) -> None:
        self._clock: Clock = queue.clock
        self._local = isinstance(queue, MemoryQueue) or (isinstance(queue, FilesQueue) and is_local(queue.root))
        self._slow: dict[str, float] = {}
        self._away: dict[str, tuple[float, float]] = {}  # (until when, how long it was)

    def quick(self, step: str) -> bool:
        if not self._local:
            return False
        away = self._away.get(step)
        return away is None or self._clock.boottime() >= away[0]

    def note(self, step: str, seconds: float) -> None:
        slow = self._slow.get(step, 0.0)
        if seconds < SLOW_SECONDS:
            if slow:
                self._slow[step] = max(slow - _MAKES_UP, 0.0)
            return
        self._slow[step] = slow + 1
        if slow + 1 >= _TOO_MANY:
            now = self._clock.boottime()
            until, last = self._away.get(step, (now, 0.0))
            again = now - until < last  # no sooner back than slow again
            pause = min(2 * last, _LONGEST_PAUSE) if again else _FIRST_PAUSE
            self._slow[step] = 0.0
            self._away[step] = (now + pause, pause)
