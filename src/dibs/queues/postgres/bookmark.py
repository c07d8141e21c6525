"""Where the next claim begins to look: behind the last task that was taken.

What was claimed leaves a dead entry in the index of ready tasks, until a vacuum removes it; whoever begins in front
steps over all of them. The mark is only this process's, and only while it is busy: the look at everything, once a
second, begins in front again. It is dropped as soon as a claim finds less than it wanted, or this process itself puts a
task back. So what another process puts back may wait for a second behind younger tasks of its priority, never behind
lower ones; and behind any what somebody took when the server undid that.
"""

from collections import Counter

from dibs.facets import Filter
from dibs.task import is_id

FRONT: tuple[int, str] = (-10_000, "0" * 32)
_PUTS_BACK = ("step", "give_back", "promote", "unblock", "prioritise", "admit")


class Bookmark:
    def __init__(self, sent: Counter[str]) -> None:
        self._sent = sent  # statements, by verb
        self._kept: tuple[Filter, int, tuple[int, str]] | None = None

    def place(self, wanted: Filter) -> tuple[int, str]:
        """Rank (the priority's negative) and id of the last one taken, or what is in front of all."""
        kept = self._kept
        return kept[2] if kept is not None and kept[0] == wanted and kept[1] == self._put_back() else FRONT

    def move(self, wanted: Filter, priority: int, task_id: str) -> None:
        """Never backwards: a task of a higher priority is found wherever the mark stands."""
        if is_id(task_id):
            self._kept = wanted, self._put_back(), max(self.place(wanted), (-priority, task_id))

    def drop(self) -> None:
        self._kept = None

    def _put_back(self) -> int:
        return sum(map(self._sent.__getitem__, _PUTS_BACK))
