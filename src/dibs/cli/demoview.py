"""What is seen of the demo: every task as a cell coloured by its worker, or plain lines."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from dibs.cli.demoledger import Account, Standing
from dibs.cli.output import clean
from dibs.states import State
from dibs.worker.progress import Bench

if TYPE_CHECKING:
    from rich.text import Text

COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "bright_cyan", "bright_green", "bright_yellow")
_COLUMNS = 30
_MANY = 450  # tasks; then cells stand close
_LINES_AROUND = 18


class PlainDemo:
    """A line for what happens, and for each tenth of the tasks."""

    def __init__(self, numbers: Mapping[str, int], talk: Callable[[str], None]) -> None:
        self._numbers = numbers
        self._talk = talk
        self._said = -1

    def __enter__(self) -> PlainDemo:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to put back."""

    def say(self, text: str, style: str = "") -> None:
        self._talk(clean(text))

    def tick(self, standings: Mapping[str, Sequence[Standing]], benches: Sequence[Bench]) -> None:
        done = _completed(standings)
        tenth = 10 * done // max(1, len(self._numbers))
        if tenth > self._said:
            self._said = tenth
            self.say(f"{done:>5} of {len(self._numbers)} completed")


class LiveDemo(PlainDemo):
    """A grid of all tasks, the workers, and what has happened so far."""

    def __init__(self, numbers: Mapping[str, int], talk: Callable[[str], None]) -> None:
        super().__init__(numbers, talk)
        from rich.console import Console
        from rich.live import Live

        self._story: list[tuple[str, str]] = []
        self._colours: dict[int, str] = {}
        self._console = Console(highlight=False, markup=False)
        self._live = Live(console=self._console, auto_refresh=False)

    def __enter__(self) -> LiveDemo:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def say(self, text: str, style: str = "") -> None:
        self._story.append((clean(text), style))

    def tick(self, standings: Mapping[str, Sequence[Standing]], benches: Sequence[Bench]) -> None:
        from rich.console import Group
        from rich.text import Text

        grid, done = self._grid(standings), _completed(standings)
        count = Text(f"\n{done} of {len(self._numbers)} completed", style="bold")
        story = [Text(f"  {text}", style=style) for text, style in self._story]
        self._live.update(Group(grid, count, *self._workers(benches), Text(), *story), refresh=True)

    def _grid(self, standings: Mapping[str, Sequence[Standing]]) -> Text:
        from rich.text import Text

        many = len(self._numbers) > _MANY
        columns = max(_COLUMNS, self._console.width - 2) if many else _COLUMNS
        grid = Text()
        if len(self._numbers) / columns > self._console.height - _LINES_AROUND:
            return grid  # too many to show each
        for number, task in enumerate(self._numbers):
            if number and number % columns == 0:
                grid.append("\n")
            places = standings.get(task)
            sign, style = self._cell(places[-1] if places else None)
            grid.append(sign if many else f"{sign} ", style)
        return grid

    def _cell(self, place: Standing | None) -> tuple[str, str]:
        if place is None or place.state not in (State.CLAIMED, State.COMPLETED):
            return "·", "bright_black"
        colour = self._colour(place.pid)
        if place.state is State.CLAIMED:
            return "▣", f"bold {colour}"
        return ("◆", f"bold {colour}") if place.epoch > 1 else ("■", colour)

    def _workers(self, benches: Sequence[Bench]) -> list[Text]:
        from rich.text import Text

        lines: list[Text] = []
        for bench in benches:
            doing = f"task {self._numbers.get(bench.doing.id, 0)}" if bench.doing else "idle"
            what = f"stopped, has {doing}" if bench.stopped else doing if bench.pid else "starting"
            name = f"worker {bench.pid}" if bench.pid else "worker"
            style = self._colour(bench.pid) if bench.pid else "bright_black"
            lines.append(Text(f"■ {name:<16}{bench.tally.completed:>4} completed   {what}", style=style))
        return lines

    def _colour(self, pid: int) -> str:
        return self._colours.setdefault(pid, COLOURS[len(self._colours) % len(COLOURS)])


def demo_view(numbers: Mapping[str, int], talk: Callable[[str], None], *, plain: bool) -> PlainDemo:
    live = sys.stdout is not None and sys.stdout.isatty() and not plain
    return LiveDemo(numbers, talk) if live else PlainDemo(numbers, talk)


def account_lines(account: Account) -> list[str]:
    rows = [
        ("pushed", account.pushed, ""),
        ("completed", account.completed, ""),
        ("lost", account.lost, ""),
        ("completed twice", account.twice, ""),
        ("taken over", account.taken_over, "leases that passed from a dead or silent worker to another"),
        ("refused", account.refused, "late finishes by a worker whose lease was gone"),
        ("runs", account.runs, "running is at least once, completing exactly once"),
    ]
    return [f"  {name:<16}{number:>6}   {what}".rstrip() for name, number, what in rows]


def _completed(standings: Mapping[str, Sequence[Standing]]) -> int:
    return sum(1 for places in standings.values() if any(place.state is State.COMPLETED for place in places))
