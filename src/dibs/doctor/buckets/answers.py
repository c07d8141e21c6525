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
    errors = late = number = 0
    while number < MOST and (number < LEAST or ground.clock.boottime() < until):
        key, body = f"answers/{number}", f"write {number}\n"
        if ground.put(key, body) != WON:
            errors += 1
            there = ground.bucket.get(key)
            late += there is not None and there.body == body
        number += 1
    tried = f"{number} objects"
    if not errors:
        yield Finding(check=_CHECK, tried=tried, happened="each was confirmed")
        return
    then = f", and {late} of these took effect; dibs reads back and knows its own" if late else "; dibs tries again"
    happened = f"{errors} were answered by an error{then}"
    yield Finding(check=_CHECK, tried=tried, happened=happened, level=Level.WARNING, remedy=_REMEDY)
