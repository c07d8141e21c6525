"""How `top` looks. Loads rich."""

from __future__ import annotations

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from dibs.cli.liveview import _COLOURS
from dibs.cli.output import clean, pause_words
from dibs.cli.topfit import fitting
from dibs.cli.toplook import Seen
from dibs.cli.topscreen import KEYS, Screen
from dibs.clock import Clock
from dibs.queues.why import seconds
from dibs.states import State

_ROOM = 8  # lines that are neither queues nor tasks
_HEADS = ("QUEUE", *(state.upper() for state in State), "IN/S", "OUT/S", "OLDEST", "WORKERS")
_LEAST = (
    *(state.upper() for state in (State.CANCELLED, State.SCHEDULED, State.BLOCKED)),
    *("IN/S", "WORKERS", "COMPLETED", "OLDEST", "OUT/S", "FAILED", "CLAIMED"),
)
_TASKS = ("TASK", "EPOCH", "HELD FOR", "EXPIRES IN", "WORKER")
_LEAST_OF_TASKS = ("EPOCH", "EXPIRES IN", "WORKER")


class TopView:
    def __init__(self, screen: Screen, clock: Clock, console: Console | None = None) -> None:
        self._screen = screen
        self._clock = clock
        self._console = console or Console(highlight=False, markup=False)
        self._live = Live(console=self._console, auto_refresh=False, screen=True)

    def __enter__(self) -> TopView:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def update(self) -> None:
        self._live.update(self.shown(), refresh=True)

    def shown(self) -> Group:
        room = max(self._console.height - _ROOM, 6)
        queues = self._screen.queues
        most = min(len(queues), room // 2)
        first = _first(next((at for at, one in enumerate(queues) if one is self._screen.queue), 0), most)
        queues = queues[first : first + most]
        words = [line for one in queues if (line := _words(one))]
        tasks = self._tasks(max(room - most - len(words), 1))
        return Group(self._queues(queues), *words, Text(), tasks, Text(), self._foot())

    def _queues(self, queues: list[Seen]) -> Table:
        rows = []
        for one in queues:
            here = one is self._screen.queue
            mark = "> " if here and not self._screen.on_tasks else "  "
            title = Text(mark + clean(one.name), style="bold" if here else "")
            if one.error:
                rows.append([title, *(Text("-") for _ in _HEADS[1:])])
                continue
            counts = [_count(one.count(state), state) for state in State]
            oldest = "-" if one.oldest is None else seconds(one.oldest)
            others = (_rate(one.pushed_rate), _rate(one.ended_rate), oldest, str(one.stats.workers))
            rows.append([title, *counts, *map(Text, others)])
        return fitting(_HEADS, rows, self._console.width, least=_LEAST, left=("QUEUE",))

    def _tasks(self, room: int) -> Group | Text:
        queue, tasks = self._screen.queue, self._screen.tasks
        if queue is None or not tasks:
            return Text("nothing is claimed" if queue else "no queue fits", style="bright_black")
        rows = []
        chosen, now = self._screen.task, self._clock.wall()
        first = _first(next((at for at, one in enumerate(tasks) if one is chosen), 0), room)
        for task in tasks[first : first + room]:
            here = task is chosen and self._screen.on_tasks
            left = task.expires_at - now
            rows.append(
                [
                    Text(("> " if here else "  ") + clean(task.key or task.id), style="bold" if here else ""),
                    Text(str(task.epoch)),
                    Text(seconds(now - task.claimed_at)),
                    Text(seconds(left)) if left > 0 else Text("expired", style="red"),
                    Text(clean(task.worker)),
                ]
            )
        table = fitting(_TASKS, rows, self._console.width, least=_LEAST_OF_TASKS, left=("TASK", "WORKER"))
        hidden = len(tasks) - room
        return Group(table, Text(f"… and {hidden:,} more" if hidden > 0 else "", style="bright_black"))

    def _foot(self) -> Text:
        screen = self._screen
        if screen.asked:
            return Text(clean(screen.asked), style="bold yellow")
        if screen.typing:
            return Text(f"/{clean(screen.filter)}_", style="bold")
        foot = Text(clean(screen.told) + "\n" if screen.told else "")
        if screen.filter:
            foot.append(f"/{clean(screen.filter)}   ", style="bold")
        foot.append(KEYS, style="bright_black")
        return foot


def _words(one: Seen) -> Text | None:
    """What there is to say of a queue besides numbers, on a line of its own: it may be long."""
    words = clean(one.error) or pause_words(one.stats.paused)
    return Text(f"{clean(one.name)}: {words}", style="red", no_wrap=True, overflow="ellipsis") if words else None


def _first(chosen: int, room: int) -> int:
    """Which row stands at the top, so that the chosen one is seen."""
    return max(0, chosen - room + 1)


def _count(number: int, state: State) -> Text:
    return Text(f"{number:,}", style=_COLOURS[state] if number else "bright_black")


def _rate(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f}"
