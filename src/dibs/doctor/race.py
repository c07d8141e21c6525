"""Many do the same thing at the same moment, round after round; how many were told that they won?

Each answers one word a round: WON, LOST, or what the storage said instead.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from dibs.clock import Clock

WON = "won"
LOST = "lost"
LATE_SECONDS = 6.0
_SPIN_SECONDS = 0.0003


def rounds(count: int, at: float, step: float, clock: Clock, late: float = LATE_SECONDS) -> Iterator[int]:
    """The numbers of the rounds, each at its moment (boottime): the last bit is waited for without sleeping, so that
    those on different processors begin at once. Who falls far behind stops: the storage takes no more."""
    for number in range(count):
        moment = at + number * step
        if clock.boottime() > at + count * step + late:
            return
        clock.sleep(max(0.0, moment - clock.boottime() - _SPIN_SECONDS))
        while clock.boottime() < moment:
            pass
        yield number


def word_of(act: Callable[[], object], lost: type[OSError]) -> str:
    """What came of one try; `lost` is how the system says that another was first."""
    from errno import errorcode

    try:
        act()
        return WON
    except lost:
        return LOST
    except OSError as error:
        return errorcode.get(error.errno or 0, str(error))


class Tally(NamedTuple):
    """Over all rounds of a race."""

    rounds: int
    double: int  # rounds that more than one won
    none: int  # rounds that nobody won
    most: int  # winners in one round
    oddities: dict[str, int]  # other answers than won and lost

    @property
    def one_each(self) -> bool:
        return self.double == self.none == 0

    @property
    def words(self) -> str:
        if self.one_each:
            odd = ", ".join(f"{word} {times} times" for word, times in self.oddities.items())
            return "one winner each time" + (f"; some losers were told {odd}" if odd else "")
        parts = []
        if self.double:
            parts.append(f"{self.double} of {self.rounds} rounds had several winners (up to {self.most})")
        if self.none:
            odd = ", ".join(self.oddities) or "that another was first"
            parts.append(f"{self.none} of {self.rounds} had none (they were told {odd})")
        return "; ".join(parts)


def tally(answers: list[list[str]]) -> Tally:
    """`answers`: of each who took part, a word for each round; rounds that not all came to do not count."""
    winners = [sum(word == WON for word in words) for words in zip(*answers, strict=False)]
    odd = Counter(word for words in answers for word in words[: len(winners)] if word not in (WON, LOST))
    return Tally(
        rounds=len(winners),
        double=sum(number > 1 for number in winners),
        none=winners.count(0),
        most=max(winners, default=0),
        oddities=dict(odd.most_common()),
    )
