"""Single writes: is each answered, and did what was answered by an error take effect all the same?"""

from collections.abc import Iterator

from dibs.doctor.buckets.ground import Ground
from dibs.doctor.finding import Finding, Level
from dibs.doctor.race import WON

MOST = 60
LEAST = 12
_CHECK = "answers to writes"
_REMEDY = "look at the server's log, or at what stands between; each error costs further requests"


def check(ground: Ground) -> Iterator[Finding]:
    until = ground.clock.boottime() + min(5.0, ground.left() / 4)
    late = 0
    words: list[str] = []
    while len(words) < MOST and (len(words) < LEAST or ground.clock.boottime() < until):
        key, body = f"answers/{len(words)}", f"write {len(words)}\n"
        words.append(ground.put(key, body))
        if words[-1] != WON:
            there = ground.bucket.get(key)
            late += there is not None and there.body == body
    yield answers_to_writes(words, late)


def answered_badly(words: list[str]) -> bool:
    """By errors more often than not: no queue gets anything done there."""
    return 2 * sum(word != WON for word in words) > len(words)


def answers_to_writes(words: list[str], late: int = 0) -> Finding:
    """`late`: of how many errors it is known that the write took effect."""
    tried = f"{len(words)} writes"
    errors = [word for word in words if word != WON]
    if not errors:
        return Finding(check=_CHECK, tried=tried, happened="each was confirmed")
    then = f", and {late} of these took effect; dibs reads back and knows its own" if late else "; dibs tries again"
    bad = answered_badly(words)
    happened = f"{len(errors)} were answered by an error ({', '.join(sorted(set(errors)))}){'' if bad else then}"
    level = Level.BAD if bad else Level.WARNING
    return Finding(check=_CHECK, tried=tried, happened=happened, level=level, remedy=_REMEDY)
