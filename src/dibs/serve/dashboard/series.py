"""What was seen of a queue in the last hours: fine for the last one, coarser before. In memory, and of fixed size."""

from collections import deque
from typing import Any

from dibs.serve.dashboard.spread import Spread

_RINGS = {10.0: 360, 120.0: 360}  # seconds of a bucket -> how many are kept
# name -> (seconds of a bucket, how many make one point, how many points)
SPANS = {"15m": (10.0, 1, 90), "1h": (10.0, 3, 120), "12h": (120.0, 3, 120)}
_FLOWS = ("pushed", "completed", "failed")
_LEVELS = ("ready", "claimed", "scheduled", "blocked")


class Bucket:
    def __init__(self, number: int) -> None:
        self.number = number
        self.seconds = 0.0  # how much of it was looked at
        self.flows = dict.fromkeys(_FLOWS, 0)
        self.levels = dict.fromkeys(_LEVELS, 0)
        self.waits = Spread()
        self.runs = Spread()

    def join(self, later: "Bucket") -> None:
        self.seconds += later.seconds
        self.flows = {name: self.flows[name] + later.flows[name] for name in _FLOWS}
        self.levels = later.levels
        self.waits.join(later.waits)
        self.runs.join(later.runs)


class Series:
    def __init__(self) -> None:
        self._rings: dict[float, deque[Bucket]] = {step: deque(maxlen=many) for step, many in _RINGS.items()}

    def add(self, now: float, seconds: float, flows: dict[str, int], levels: dict[str, int]) -> None:
        """What came and went in the `seconds` before `now`, and what there is now."""
        for step in self._rings:
            bucket = self._bucket(step, now)
            bucket.seconds += seconds
            for name in _FLOWS:
                bucket.flows[name] += flows[name]
            bucket.levels = {name: levels.get(name, 0) for name in _LEVELS}

    def took(self, now: float, wait: float | None, run: float, weight: float) -> None:
        for step in self._rings:
            bucket = self._bucket(step, now)
            bucket.runs.add(run, weight)
            if wait is not None:
                bucket.waits.add(wait, weight)

    def _bucket(self, step: float, now: float) -> Bucket:
        ring, number = self._rings[step], int(now // step)
        if not ring or ring[-1].number != number:
            ring.append(Bucket(number))
        return ring[-1]

    def rate(self, now: float, name: str, seconds: float = 60.0) -> float:
        """So many a second, of late."""
        step = min(self._rings)
        recent = [bucket for bucket in self._rings[step] if bucket.number * step > now - seconds - step]
        looked = sum(bucket.seconds for bucket in recent)
        return sum(bucket.flows[name] for bucket in recent) / looked if looked else 0.0

    def columns(self, now: float, span: str) -> dict[str, Any]:
        """Each figure as a list, oldest first; `ago` says how many seconds before now, at the end of its point."""
        size, group, many = SPANS[span]
        step = size * group
        shown = self._joined(size, group, int(now // step) - many + 1)
        columns: dict[str, Any] = {
            "ago": [round(max(now - (bucket.number + 1) * step, 0.0), 1) for bucket in shown],
            **{name: [round(bucket.flows[name] / bucket.seconds, 4) for bucket in shown] for name in _FLOWS},
            **{name: [bucket.levels[name] for bucket in shown] for name in _LEVELS},
        }
        for name in ("waits", "runs"):
            for share, word in ((0.5, "median"), (0.95, "most")):
                parts = [getattr(bucket, name).part(share) for bucket in shown]
                columns[f"{name}_{word}"] = [None if part is None else round(part, 4) for part in parts]
        return {"span": step * many, "step": step, **columns}

    def _joined(self, size: float, group: int, first: int) -> list[Bucket]:
        points: dict[int, Bucket] = {}
        for bucket in list(self._rings[size]):
            number = bucket.number // group
            if number >= first and bucket.seconds > 0:
                points.setdefault(number, Bucket(number)).join(bucket)
        return list(points.values())

    def line(self, now: float, name: str, many: int = 60) -> list[float]:
        """A small chart of the last half hour: one figure for each 30 seconds, 0 where nothing was seen."""
        step, group = min(self._rings), 3
        first = int(now // step) - many * group + 1
        sums = [[0.0, 0.0] for _ in range(many)]
        for bucket in self._rings[step]:
            if bucket.number >= first:
                place = min((bucket.number - first) // group, many - 1)
                sums[place][0] += bucket.flows[name]
                sums[place][1] += bucket.seconds
        return [round(count / seconds, 4) if seconds else 0.0 for count, seconds in sums]
