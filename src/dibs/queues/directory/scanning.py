"""Finding tasks to claim in a `dir:` queue.

The tree is walked once and claims are served from the walk; only when it is used up is it walked again.
What the walk says is a hint; the claimer looks again once it has the lease.
"""

from collections.abc import Callable, Iterator
from threading import Lock

from dibs.queues.directory.frontier import Frontier
from dibs.queues.leased import Look
from dibs.queues.lockfiles.naming import record_name
from dibs.queues.lockfiles.past import Pasts
from dibs.states import State


class Scanning:
    """Safe for threads; each candidate of a walk is given out once."""

    def __init__(
        self, frontier: Frontier, pasts: Pasts, held: Callable[[], set[str]], now: Callable[[], float]
    ) -> None:
        self._frontier = frontier
        self._pasts = pasts
        self._held = held
        self._now = now
        self._lock = Lock()
        self._walk: Iterator[str] = iter(())

    def next(self, look: Look) -> str | None:
        """A task that may be ready, or None after a walk of the whole tree."""
        with self._lock:
            found = next(self._walk, None)
            if found is None and not look.anew:
                look.anew = True
                self._walk = self._candidates()
                found = next(self._walk, None)
            return found

    def _candidates(self) -> Iterator[str]:
        out = self._held() | self._pasts.names("failed") | self._pasts.names("cancelled")
        waiting = self._pasts.names("waiting")
        for task_id in self._frontier.candidates():
            name = record_name(task_id)
            if name not in out and not (name in waiting and self._waits(task_id)):
                yield task_id

    def _waits(self, task_id: str) -> bool:
        cell = self._pasts.read(task_id).cell
        return cell.state is State.SCHEDULED and cell.due > self._now()
