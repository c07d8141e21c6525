"""Specs to measure with: files such as people write, and graphs of any size. The same for the same size."""

import os
import random

from dibs.specs.nodes import CODES, Nodes
from dibs.specs.statuses import Status

OPEN_SHARE = 5  # one in five is not done yet
NEAR = 200  # dependencies are among that many specs before
BODY_BYTES = 1500
PROJECTS = ("shop", "site", "search", "billing", "mobile")
LABELS = ("backend", "frontend", "docs", "bug", "urgent", "research", "eu", "us")
TYPES = ("code", "docs", "task")
_TEXT = "the queue of files is never written to by who holds a spec and what waits for it is read again "


def fill(folder: str, count: int) -> None:
    """`count` files of about 1.8 kB: nine fields, a heading and a text. Nothing of it is timed."""
    os.makedirs(folder)
    rng = random.Random(count)
    names = [f"2026-{number % 12 + 1:02}-{number % 28 + 1:02}-some-title-{number:06x}" for number in range(count)]
    for number, name in enumerate(names):
        with open(os.path.join(folder, f"{name}.md"), "w", encoding="utf-8") as file:
            file.write(_page(number, names, count - count // OPEN_SHARE, rng))


def _page(number: int, names: list[str], done: int, rng: random.Random) -> str:
    status = _status(number, done, rng)
    wanted = sorted({rng.randrange(max(number - NEAR, 0), number) for _ in range(rng.randrange(3))}) if number else []
    lines = [
        f"status: {status}",
        f"priority: {rng.choice(['low', 'normal', 'high', 75])}",
        f"type: {rng.choice(TYPES)}",
    ]
    lines += [f"project: {rng.choice(PROJECTS)}", f"labels: [{', '.join(rng.sample(LABELS, 2))}]"]
    lines += ["depends_on:", *(f"  - {names[other]}" for other in wanted)] if wanted else []
    lines += [f"author: person-{rng.randrange(20)}", f"estimate: {rng.randrange(1, 9)}"]
    if status == "completed":
        lines += [f"started_by: person-{rng.randrange(20)}", f"completed_at: 2026-11-16T09:{number % 60:02}:00Z"]
    words = rng.choices(_TEXT.split(), k=BODY_BYTES // 4)
    text = "\n".join(" ".join(words[start : start + 15]) for start in range(0, len(words), 15))
    return "\n".join(["---", *lines, "---", f"# Some title, number {number}", "", text[:BODY_BYTES], ""])


def _status(number: int, done: int, rng: random.Random) -> str:
    if number < done:
        return "completed"
    return rng.choice(["pending"] * 16 + ["in_progress", "failed", "blocked", "paused"])


def nodes(count: int) -> Nodes:
    """As many specs with twice as many dependencies, half of the specs completed."""
    rng = random.Random(count)
    ids = [f"spec-{number:08}" for number in range(count)]
    codes = [CODES[Status.COMPLETED if number < count // 2 else Status.PENDING] for number in range(count)]
    waits = [[ids[rng.randrange(number)] for _ in range(2)] if number else [] for number in range(count)]
    return Nodes(ids, codes, [rng.choice((0, 50, 100)) for _ in ids], waits, [0.0] * count)
