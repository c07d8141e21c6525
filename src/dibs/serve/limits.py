"""How fast anybody may ask: a bucket of tokens for each token and each address, filled at the rate. Whoever finds it
empty is told when to come again."""

from collections import OrderedDict

from dibs.clock import Clock
from dibs.serve.refusal import Refusal

BURST_SECONDS = 2.0  # so much of the rate may be asked at once
MOST_KNOWN = 10_000


class Limits:
    """`rate`: requests a second; 0 for no limit."""

    def __init__(self, rate: float, clock: Clock) -> None:
        self._rate = rate
        self._most = max(rate * BURST_SECONDS, 1.0)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # (what is in it, when)

    def take(self, who: str) -> None:
        """Raises a Refusal that says in how many seconds there is room."""
        if not self._rate:
            return
        now = self._clock.boottime()
        left, since = self._buckets.get(who, (self._most, now))
        left = min(left + (now - since) * self._rate, self._most)
        if left < 1.0:
            self._buckets[who] = (left, now)
            wait = max(int((1.0 - left) / self._rate + 0.999), 1)
            raise Refusal(
                "busy", f"more than {self._rate:g} requests a second; ask again in {wait} s", retry_after=wait
            )
        self._buckets[who] = (left - 1.0, now)
        self._buckets.move_to_end(who)
        while len(self._buckets) > MOST_KNOWN:
            self._buckets.popitem(last=False)
