"""The bare remote of a team: it keeps a log of every ref, and while there is a file `chaos` in it, it fails by chance.

A push may be refused, answered late, cut off before anything is written, or cut off when all is written.
"""

import json
import random
from pathlib import Path
from typing import Any, NamedTuple

from git.clones import SPECS, git, hook

CELLS = "refs/dibs/cells/"
_DICE = """[ -e "$GIT_DIR/chaos" ] || exit 0
dice=$(od -An -N1 -tu1 /dev/urandom)"""
_BEFORE = f"""{_DICE}
if [ "$dice" -lt 25 ]; then echo "no luck today" >&2; exit 1; fi
if [ "$dice" -lt 40 ]; then sleep 0.4; fi
if [ "$dice" -gt 245 ]; then kill -9 $PPID; fi
exit 0"""
_AFTER = f"""[ "$1" = committed ] || exit 0
{_DICE}
if [ "$dice" -gt 247 ]; then kill -9 $PPID; fi
exit 0"""


class Tip(NamedTuple):
    """One state that a ref of the remote has had."""

    commit: str
    before: str


class Remote:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "remote.git"
        git(folder, "init", "-q", "--bare", "-b", "main", str(self.path))
        git(self.path, "config", "core.logAllRefUpdates", "always")
        git(self.path, "config", "core.fsync", "none")
        hook(self.path, "pre-receive", _BEFORE)
        hook(self.path, "reference-transaction", _AFTER)

    def fail_by_chance(self, on: bool) -> None:
        (self.path / "chaos").touch() if on else (self.path / "chaos").unlink()

    def completed(self, mode: str) -> set[str]:
        """The specs that are completed, as the mode has it."""
        if mode == "refs":
            return {name for name, cell in self.cells().items() if cell["state"] == "completed"}
        found = git(self.path, "grep", "-l", "-e", "^status: completed", "main", "--", SPECS, ok=False)
        return {Path(line).stem for line in found.splitlines()}

    def cells(self) -> dict[str, dict[str, Any]]:
        said = git(self.path, "for-each-ref", "--format=%(refname) %(contents:subject)", CELLS).splitlines()
        parts = (line.removeprefix(CELLS).split(" ", 1) for line in said)
        return {name: json.loads(text) for name, text in parts}

    def tips(self, ref: str) -> list[Tip]:
        """All that it has been, in order."""
        lines = (self.path / "logs" / ref).read_text().splitlines()
        return [Tip(line.split(" ")[1], line.split(" ")[0]) for line in lines]

    def texts(self, names: list[str]) -> list[str]:
        """The content of many objects, by one git."""
        out = git(self.path, "cat-file", "--batch", "--buffer", input="\n".join([*names, ""]))
        return _cut(out)


def _cut(out: str) -> list[str]:
    data, found, at = out.encode(), [], 0
    while at < len(data):
        end = data.index(b"\n", at)
        head, at = data[at:end], end + 1
        size = 0 if head.endswith(b" missing") else int(head.rpartition(b" ")[2])
        found.append(data[at : at + size].decode())
        at += size + 1 if size else 0
    return found


def spec_text(name: str, after: list[str], clones: int) -> str:
    """A spec in which every clone's user has a line to write on, each far enough from the others to merge."""
    head = ["---", f"title: {name}", "status: pending", *([f"depends_on: [{', '.join(after)}]"] if after else [])]
    body = ["---", f"# {name}", "", "What is to be done.", "", "And why."]
    for number in range(clones):
        body += ["", "...", f"notes of c{number}:", "...", ""]
    return "\n".join([*head, *body, "end", ""])


def fill(clone: Path, specs: int, clones: int, rng: random.Random) -> list[str]:
    """The first commit's files. One spec in three depends on earlier ones."""
    (clone / SPECS).mkdir(parents=True)
    names = [f"s{number:03d}" for number in range(specs)]
    for number, name in enumerate(names):
        after = rng.sample(names[:number], min(number, rng.choice([1, 1, 2]))) if rng.random() < 0.34 else []
        (clone / SPECS / f"{name}.md").write_text(spec_text(name, after, clones))
    (clone / "src").mkdir()
    for number in range(clones):
        for kind in ("draft", "staged", "own", "stashed"):
            (clone / "src" / f"{kind}-{number}.txt").write_text(f"{kind}\n")
    return names
