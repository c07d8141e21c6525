"""What the contending processes do in a bucket. A body names who wrote it, so that what is there can be told apart."""

from dibs.clock import SYSTEM
from dibs.doctor.buckets.driver import Bucket
from dibs.doctor.race import rounds

LATE_SECONDS = 3.0
PACED = 40  # objects of each who measures the pace


class Acts:
    def __init__(self, place: list[str]) -> None:
        self._clock = SYSTEM
        url, folder = place
        self._bucket = Bucket(url, folder, self._clock)

    def ready(self, me: int) -> bool:
        """The connection is made, so that the first round costs no more than the others."""
        self._bucket.get("nothing")
        return True

    def create(self, me: int, count: int, at: float, step: float) -> list[str]:
        return [
            self._bucket.put(f"create/{number}", body_of(me, number), "create")[0]
            for number in rounds(count, at, step, self._clock, LATE_SECONDS)
        ]

    def replace(self, me: int, tags: list[str], at: float, step: float) -> list[str]:
        return [
            self._bucket.put(f"replace/{number}", body_of(me, number), {"e_tag": tags[number]})[0]
            for number in rounds(len(tags), at, step, self._clock, LATE_SECONDS)
        ]

    def create_again(self, me: int, key: str, body: str) -> str:
        return self._bucket.put(key, body, "create")[0]

    def read(self, me: int, key: str) -> str:
        found = self._bucket.get(key)
        return "" if found is None else found.body

    def listed(self, me: int, key: str, there: bool, patience: float) -> float | None:
        """After how many seconds a key was (or was no longer) listed; None: not within `patience`."""
        start = self._clock.boottime()
        while (taken := self._clock.boottime() - start) < patience:
            if (key in self._bucket.names(key.rpartition("/")[0])) == there:
                return taken
            self._clock.sleep(0.02)
        return None

    def put(self, me: int, seconds: float) -> list[float]:
        """(how many, in how many seconds)"""
        done, start = 0, self._clock.boottime()
        while (now := self._clock.boottime()) - start < seconds:
            self._bucket.put(paced(me, done), "x" * 200)
            done += 1
        return [done, now - start]


def body_of(me: int, number: int) -> str:
    return f"process {me} round {number}\n"


def paced(me: int, number: int) -> str:
    return f"pace/{me}-{number % PACED}"
