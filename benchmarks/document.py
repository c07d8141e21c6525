"""Putting the tables of a run into a markdown page, between two markers, and leaving the rest of it alone."""

from benchmarks.report import Outcome, goals_table

BEGIN = "<!-- figures: written by `python -m benchmarks --doc`; do not edit -->"
END = "<!-- end of figures -->"


def write_document(path: str, outcomes: list[Outcome], where: dict[str, str], size: str, rounds: int) -> None:
    with open(path, encoding="utf-8") as file:
        text = file.read()
    head, found, rest = text.partition(BEGIN)
    _, closed, tail = rest.partition(END)
    if not found or not closed:
        raise SystemExit(f"{path} lacks the lines {BEGIN!r} and {END!r}; add them where the tables belong")
    with open(path, "w", encoding="utf-8") as file:
        file.write(head + BEGIN + "\n\n" + figures(outcomes, where, size, rounds) + "\n" + END + tail)


def figures(outcomes: list[Outcome], where: dict[str, str], size: str, rounds: int) -> str:
    machine = ", ".join(f"{name} {value}" for name, value in where.items())
    parts = [f"Size {size}, {rounds} rounds; medians. {machine}.\n"]
    goals = [goal for outcome in outcomes for goal in outcome.goals]
    parts.append(goals_table(goals).render())
    for outcome in outcomes:
        parts += [table.render() for table in outcome.tables]
        parts += [f"Missing: {line}\n" for line in outcome.missing]
    return "\n".join(parts)
