"""What the workers wrote down, and what must hold of it whatever the remote says."""

import json
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

Line = dict[str, Any]


class Journals:
    def __init__(self, folder: Path) -> None:
        self.lines: list[Line] = []
        self.by_worker: dict[str, list[Line]] = {}
        for path in sorted(folder.iterdir()):
            lines = [{**json.loads(line), "worker": path.stem} for line in path.read_text().splitlines()]
            self.by_worker[path.stem] = lines
            self.lines += lines
        self.lines.sort(key=lambda line: float(line["at"]))

    def of(self, what: str) -> list[Line]:
        return [line for line in self.lines if line["what"] == what]

    def counted(self) -> Counter[str]:
        return Counter(str(line["what"]) for line in self.lines)

    def problems(self, done: dict[str, int], killed: set[str]) -> list[str]:
        """`done`: the epoch at which the remote says each spec was completed."""
        return [*self._twice(), *self._together(), *self._not_said(done, killed)]

    def _twice(self) -> list[str]:
        claims = Counter((line["spec"], line["epoch"]) for line in self.of("claimed"))
        ends = Counter(line["spec"] for line in self.of("completed"))
        found = [f"{spec} was claimed {times} times at epoch {epoch}" for (spec, epoch), times in claims.items()
                 if times > 1]  # fmt: skip
        return found + [f"{spec} was completed {times} times" for spec, times in ends.items() if times > 1]

    def _together(self) -> list[str]:
        """Nobody believes to hold a spec once somebody else has been given a later epoch of it."""
        beliefs: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
        for line in self.lines:
            if line["what"] in ("claimed", "holds"):
                beliefs[line["spec"]][line["epoch"]].append(line["at"])
        return [
            f"{spec} was held at epoch {early} until {max(times[early]):.3f}, at {late} from {min(times[late]):.3f}"
            for spec, times in beliefs.items()
            for early, late in pairwise(sorted(times))
            if max(times[early]) > min(times[late])
        ]

    def _not_said(self, done: dict[str, int], killed: set[str]) -> list[str]:
        """Who completed a spec was told so, unless he was killed meanwhile or the answer was lost for good."""
        told = {line["spec"]: line["epoch"] for line in self.of("completed")}
        found = [f"{spec}: a worker completed it at epoch {epoch}, the remote has {done.get(spec)}"
                 for spec, epoch in told.items() if done.get(spec) != epoch]  # fmt: skip
        began = {(line["spec"], line["epoch"]): line["worker"] for line in self.of("finishing")}
        unsure = {(line["spec"], line["epoch"]) for line in self.of("unsure")}
        for spec, epoch in done.items():
            worker = began.get((spec, epoch))
            if spec not in told and (worker is None or (worker not in killed and (spec, epoch) not in unsure)):
                found.append(f"{spec}: completed at epoch {epoch} on the remote, but {worker} was never told so")
        return found

    def taken_over(self) -> int:
        """Leases given to another clone after one that did not end by a step of its holder."""
        ended = {(line["spec"], line["epoch"]) for line in self.lines if line["what"] in ("released", "completed")}
        holders = {(line["spec"], line["epoch"]): str(line["worker"]).split("-")[0] for line in self.of("claimed")}
        return sum(
            (spec, epoch - 1) in holders and (spec, epoch - 1) not in ended and holders[spec, epoch - 1] != clone
            for (spec, epoch), clone in holders.items()
        )
