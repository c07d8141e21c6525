"""What keys promise.

key twice        two tasks with one key were both given out, by push or retry, and are live at once
dead duplicate   a push was told that its key is taken, by a task that was over before the push began
lost             after a push returned, no task with its key ran to an end, or is still to run
"""

from dataclasses import dataclass

from dibs.states import LIVE, State

from .truth import Truth, show
from .world import Violation, World


@dataclass(frozen=True, slots=True)
class Push:
    key: str
    unique: str
    began: float
    id: str
    last: str  # the task given out last for this key when the push began


class Keyring:
    def __init__(self, world: World, truth: Truth) -> None:
        self._world = world
        self._truth = truth
        self._given: dict[
            str, dict[str, float]
        ] = {}  # key -> tasks given out by push or retry, when, the last one last
        self._pushes: list[Push] = []
        self.purging = False  # then a completed task may have lost its key already, and still be there

    def begin(self, key: str) -> tuple[float, str]:
        return self._world.now, next(reversed(self._given.get(key, {})), "")

    def pushed(self, key: str, unique: str, began: tuple[float, str], task_id: str, *, duplicate: bool) -> None:
        push = Push(key, unique, began[0], task_id, began[1])
        self._pushes.append(push)
        if duplicate:
            self._check_duplicate(push)
        else:
            self._check_fresh(push)
            self.given(task_id)

    def given(self, task_id: str) -> None:
        """Push or retry said: this task has its key."""
        key = self._truth.keys.get(task_id)
        if key is None:
            return
        given = self._given.setdefault(key, {})
        given.pop(task_id, None)
        given[task_id] = self._world.now
        live = [other for other, since in given.items() if self._live(other, since)]
        if len(live) > 1:
            raise Violation("key twice", f"key {key!r} was given to {' and to '.join(live)}, which are all live")

    def promised(self) -> set[str]:
        """Tasks that some push was told of."""
        return {push.id for push in self._pushes}

    def check_end(self) -> None:
        """After the calm: each push had its run."""
        for push in self._pushes:
            tasks = [task_id for task_id, key in self._truth.keys.items() if key == push.key]
            if not any(self._counts(task_id, push) for task_id in tasks):
                raise Violation("lost", f"after the push of key {push.key!r} that returned {push.id}, no such task ran")

    def _counts(self, task_id: str, push: Push) -> bool:
        if self._live(task_id):
            return True
        for end in self._truth.ends(task_id):
            done = end.name == "complete" and (push.unique == "completed" or end.at > push.began)
            by_hand = end.name == "cancel" and getattr(end.process, "name", "").startswith("meddler")
            if done or (end.at > push.began and (by_hand or end.name in ("fail", "expire"))):
                return True
        return False

    def _check_duplicate(self, push: Push) -> None:
        if self._live(push.id):
            return
        ends = self._truth.ends(push.id)
        if ends[-1].at > push.began or (push.unique == "completed" and ends[-1].name == "complete"):
            return
        raise Violation(
            "dead duplicate", f"push of key {push.key!r} was told it is {push.id}, which was over: {ends[-1]}"
        )

    def _check_fresh(self, push: Push) -> None:
        if self.purging or push.unique != "completed" or not push.last:
            return
        cell = self._truth.cells[push.last]
        if cell.state is State.COMPLETED and self._truth.ends(push.last)[-1].at < push.began:
            raise Violation("key twice", f"key {push.key!r} was given to {push.id}, but {push.last} is {show(cell)}")

    def _live(self, task_id: str, since: float = 0.0) -> bool:
        """True when it is live and, if `since` is given, did not end after that: it is not just being retried."""
        cell = self._truth.cells.get(task_id)
        if cell is None or cell.state not in LIVE:
            return False
        return not since or all(end.at < since for end in self._truth.ends(task_id))
