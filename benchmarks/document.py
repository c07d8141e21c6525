"""Putting the tables of a run into a markdown page, between two markers, and leaving the rest of it alone.

Each benchmark has a part of its own there, so a run of one of them leaves the others' figures as they are.
"""

from benchmarks.report import Outcome, goals_table

BEGIN = "<!-- figures: written by `python -m benchmarks --doc`; do not edit -->"
END = "<!-- end of figures -->"
PART = "<!-- part: "


def write_document(path: str, outcomes: list[Outcome], where: dict[str, str], size: str, rounds: int) -> None:
    with open(path, encoding="utf-8") as file:
        text = file.read()
    head, found, rest = text.partition(BEGIN)
    block, closed, tail = rest.partition(END)
    if not found or not closed:
        raise SystemExit(f"{path} lacks the lines {BEGIN!r} and {END!r}; add them where the tables belong")
    parts = _parts(block) | {outcome.name: figures(outcome, where, size, rounds) for outcome in outcomes}
    figured = "\n\n".join(f"{PART}{name} -->\n\n{part.strip()}" for name, part in parts.items())
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{head}{BEGIN}\n\n{figured}\n\n{END}{tail}")


def _parts(block: str) -> dict[str, str]:
    """What is there, by the name of the benchmark; anything before the first is dropped."""
    found = {}
    for piece in block.split(PART)[1:]:
        name, _, text = piece.partition(" -->")
        found[name] = text
    return found


def figures(outcome: Outcome, where: dict[str, str], size: str, rounds: int) -> str:
    machine = ", ".join(f"{name} {value}" for name, value in where.items())
    parts = [f"**{outcome.name}**: size {size}, {rounds} rounds; medians. {machine}.\n"]
    if outcome.goals:
        parts.append(goals_table(outcome.goals).render())
    parts += [table.render() for table in outcome.tables]
    parts += [f"Missing: {line}\n" for line in outcome.missing]
    return "\n".join(parts)
