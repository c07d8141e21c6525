"""How long things took: counts in bins that grow by a fifth, so that any number of them fits in a few."""

import math

_STEPS = 4  # bins to a doubling
SHORTEST = 0.001


class Spread:
    def __init__(self) -> None:
        self._bins: dict[int, float] = {}

    def add(self, seconds: float, weight: float = 1.0) -> None:
        place = math.floor(math.log2(max(seconds, SHORTEST)) * _STEPS)
        self._bins[place] = self._bins.get(place, 0.0) + weight

    def join(self, other: "Spread") -> None:
        for place, weight in other._bins.items():
            self._bins[place] = self._bins.get(place, 0.0) + weight

    def part(self, share: float) -> float | None:
        """What `share` of them stayed below, to a tenth; None when there were none."""
        left = sum(self._bins.values()) * share
        for place in sorted(self._bins):
            left -= self._bins[place]
            if left <= 1e-9:
                return float(2 ** ((place + 0.5) / _STEPS))
        return None
