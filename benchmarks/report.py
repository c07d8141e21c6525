"""What a benchmark found: tables and judged goals, as text, markdown and JSON (one form serves the first two)."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Table:
    title: str
    columns: list[str]
    rows: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def render(self) -> str:
        cells = [self.columns, *self.rows]
        widths = [max(len(row[column]) for row in cells) for column in range(len(self.columns))]
        lines = [_line(row, widths) for row in cells]
        rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
        lines.insert(1, _line(rule, widths))
        text = f"### {self.title}\n\n" + "\n".join(lines)
        if self.notes:
            text += "\n\n" + "\n".join(f"- {note}" for note in self.notes)
        return text + "\n"


def _line(row: list[str], widths: list[int]) -> str:
    first, *rest = [
        cell.ljust(width) if not i else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "| " + " | ".join([first, *rest]) + " |"


@dataclass
class Goal:
    text: str
    wanted: str
    found: str
    met: bool | None  # None: could not be judged; `found` says why

    @property
    def verdict(self) -> str:
        return {True: "met", False: "NOT MET", None: "NOT JUDGED"}[self.met]


@dataclass
class Outcome:
    """What one benchmark found. `missing` names the contenders that could not run, and why."""

    name: str
    tables: list[Table] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)  # dibs lost, doubled or broke something
    data: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def at_least(text: str, value: float | None, wanted: float, unit: str = "x", why: str = "not measured") -> Goal:
    return _judge(text, value, f">= {wanted:g}{unit}", unit, why, lambda found: found >= wanted)


def at_most(text: str, value: float | None, wanted: float, unit: str = "x", why: str = "not measured") -> Goal:
    return _judge(text, value, f"<= {wanted:g}{unit}", unit, why, lambda found: found <= wanted)


def above(text: str, value: float | None, wanted: float, unit: str = "x", why: str = "not measured") -> Goal:
    return _judge(text, value, f"> {wanted:g}{unit}", unit, why, lambda found: found > wanted)


def _judge(text: str, value: float | None, wanted: str, unit: str, why: str, test: Any) -> Goal:
    if value is None:
        return Goal(text, wanted, why, None)
    return Goal(text, wanted, f"{value:.2f}{unit}", bool(test(value)))


def goals_table(goals: list[Goal]) -> Table:
    rows = [[goal.text, goal.wanted, goal.found, goal.verdict] for goal in goals]
    return Table("Goals", ["goal", "wanted", "found", "verdict"], rows)


def ratio(one: float | None, other: float | None) -> float | None:
    return None if one is None or not other else one / other


def times(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def per_second(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def spread(low: float | None, high: float | None, digits: int = 0) -> str:
    return "–" if low is None or high is None else f"{low:,.{digits}f}–{high:,.{digits}f}"
