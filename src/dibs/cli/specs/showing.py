"""How specs are said: as records for scripts, as lines for people."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from dibs.cli.output import clean
from dibs.cli.tables import pairs, table, without_empty
from dibs.clock import iso
from dibs.specs.spec import Broken, Spec
from dibs.states import State
from dibs.values import asdict

if TYPE_CHECKING:
    from dibs.specs.lint import Problem


def record(spec: Spec) -> dict[str, Any]:
    """The fields of `--json`."""
    due = None if spec.not_before is None else iso(spec.not_before)
    return {**asdict(spec), "status": str(spec.status), "not_before": due, "more": dict(spec.more)}


def summary(shown: list[tuple[Spec, State]]) -> dict[str, int]:
    """How many there are in each state."""
    counts = {str(state): sum(one is state for _, one in shown) for state in State}
    return {state: count for state, count in counts.items() if count}


def list_lines(args: Namespace, shown: list[tuple[Spec, State]]) -> list[str]:
    """A table, or the summary."""
    if args.summary:
        return pairs(list(summary(shown).items())) or ["no specs"]
    headers = ["ID", "STATE", "PRIORITY", "PROJECT", "LABELS", "BY", "TITLE"]
    rows = [[s.id, _state(s, at), s.priority, s.project, s.labels, s.started_by, s.title] for s, at in shown]
    return table(*without_empty(headers, rows)) if rows else ["no specs"]


def _state(spec: Spec, state: State) -> str:
    """And what the file says where that is more."""
    plain = str(spec.status) in ("pending", "in_progress", str(state))
    return str(state) if plain else f"{state} ({spec.status})"


def where(problem: Broken | Problem) -> str:
    """A problem with its place, as compilers say it."""
    place = f"{problem.path}:{problem.line}" if problem.line else problem.path
    return clean(f"{place}: {problem.reason}")
