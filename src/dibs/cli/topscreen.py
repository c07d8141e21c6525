"""What the keys of `top` do: which queue and task are chosen, what is filtered, what is asked before it is done.

Nothing here knows of a terminal; `Screen` is told keys and says what to show.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dibs.cli.toplook import Looker, Seen
from dibs.errors import DibsError
from dibs.queues.views import Claim
from dibs.redact import redact

KEYS = "↑↓ choose   tab queues/tasks   p pause/resume   r retry failed   c cancel   / filter   q quit"


class Screen:
    def __init__(self, lookers: Sequence[Looker]) -> None:
        self._lookers = list(lookers)
        self.filter = ""
        self.typing = False  # the filter
        self.asked = ""  # a question that y answers
        self.told = ""
        self.on_tasks = False
        self.over = False
        self._queue = 0
        self._task = 0
        self._act: Callable[[], str] | None = None

    # What is to be seen

    @property
    def queues(self) -> list[Seen]:
        return [one.seen for one in self._chosen() if one.seen is not None]

    @property
    def queue(self) -> Seen | None:
        looker = self._looker()
        return None if looker is None else looker.seen

    @property
    def tasks(self) -> list[Claim]:
        seen = self.queue
        if seen is None:
            return []
        named = self._fits(seen.name)
        return [one for one in seen.claims if named or self._fits(one.key or "", one.id, one.worker, one.host)]

    @property
    def task(self) -> Claim | None:
        tasks = self.tasks
        return tasks[min(self._task, len(tasks) - 1)] if tasks else None

    def _fits(self, *texts: str) -> bool:
        return not self.filter or any(self.filter.lower() in text.lower() for text in texts)

    def _chosen(self) -> list[Looker]:
        """Queues of that name, or with such a task."""
        return [
            one
            for one in self._lookers
            if self._fits(one.name)
            or (one.seen and any(self._fits(c.key or "", c.id, c.worker, c.host) for c in one.seen.claims))
        ]

    def _looker(self) -> Looker | None:
        chosen = self._chosen()
        return chosen[min(self._queue, len(chosen) - 1)] if chosen else None

    # Keys

    def press(self, key: str) -> None:
        if self.asked:
            self._answer(key)
        elif self.typing:
            self._type(key)
        elif key in ("q", "ctrl-c", "eof"):
            self.over = True
        elif key in _PLAIN:
            self.told = ""
            _PLAIN[key](self)

    def _answer(self, key: str) -> None:
        act, self._act, self.asked = self._act, None, ""
        if key == "y" and act is not None:
            self._do(act)
        else:
            self.told = "nothing was changed"

    def _type(self, key: str) -> None:
        if key in ("enter", "escape"):
            self.typing = False
            self.filter = "" if key == "escape" else self.filter
        elif key == "backspace":
            self.filter = self.filter[:-1]
        elif key in ("ctrl-c", "eof"):
            self.over = True
        elif len(key) == 1 and key.isprintable():
            self.filter += key
        self._queue = self._task = 0

    def _do(self, act: Callable[[], str]) -> None:
        try:
            self.told = act()
        except DibsError as error:
            self.told = redact(str(error))
        if (looker := self._looker()) is not None:
            looker.hurry()

    def _move(self, by: int) -> None:
        if self.on_tasks:
            self._task = max(0, min(self._task + by, len(self.tasks) - 1))
        else:
            self._queue = max(0, min(self._queue + by, len(self._chosen()) - 1))
            self._task = 0

    def _switch(self) -> None:
        self.on_tasks = not self.on_tasks

    def _filtering(self) -> None:
        self.typing, self.filter = True, ""

    def _pause(self) -> None:
        looker = self._looker()
        if looker is None:
            return

        def act() -> str:
            queue = looker.queue
            if queue.paused is None:
                queue.pause("dibs top")
                return f"{looker.name} is paused"
            queue.resume()
            return f"{looker.name} goes on"

        self._do(act)

    def _retry(self) -> None:
        looker = self._looker()
        if looker is None or looker.seen is None:
            return
        failed = looker.seen.stats.states.get("failed", 0)
        if not failed:
            self.told = f"nothing of {looker.name} has failed"
            return

        def act() -> str:
            tasks = list(looker.queue.tasks("failed"))
            for task in tasks:
                looker.queue.retry(task.id)
            return f"{len(tasks)} put back"

        self._ask(f"put {failed:,} failed {'task' if failed == 1 else 'tasks'} of {looker.name} back? y/n", act)

    def _cancel(self) -> None:
        looker, task = self._looker(), self.task
        if looker is None or task is None or not self.on_tasks:
            self.told = "choose a task first: tab, then the arrows"
            return

        def act() -> str:
            looker.queue.cancel(task.id)
            return f"{task.key or task.id} is cancelled"

        self._ask(f"cancel {task.key or task.id}, held by {task.worker}? y/n", act)

    def _ask(self, question: str, act: Callable[[], str]) -> None:
        self.asked, self._act = question, act


_PLAIN: dict[str, Callable[[Screen], None]] = {
    "up": lambda screen: screen._move(-1),
    "down": lambda screen: screen._move(1),
    "k": lambda screen: screen._move(-1),
    "j": lambda screen: screen._move(1),
    "tab": Screen._switch,
    "left": Screen._switch,
    "right": Screen._switch,
    "p": Screen._pause,
    "r": Screen._retry,
    "c": Screen._cancel,
    "/": Screen._filtering,
}
