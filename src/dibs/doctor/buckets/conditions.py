"""Conditional writes under contention: one winner, and what is there is what the winner wrote."""

from collections.abc import Iterator

from dibs.doctor.buckets.acts import body_of
from dibs.doctor.buckets.ground import Ground
from dibs.doctor.finding import Finding, Level
from dibs.doctor.race import LOST, WON, tally

MOST = 100
ONCE = 5
REMEDY = "use a server that honours conditional writes, such as Amazon S3, MinIO, SeaweedFS or Cloudflare R2"


def check(ground: Ground) -> Iterator[Finding]:
    """First whether the condition is honoured at all: a store that ignores it may be too slow to be raced."""
    ignored = _ignored(ground)
    if ignored is not None:
        yield ignored
        return
    count = ground.rounds(MOST)
    ground.will_make(f"create/{number}" for number in range(count))
    answers = ground.crew.all("create", count=count, at=ground.at(), step=ground.step)
    created = _judged(ground, "If-None-Match: *", "create", answers)
    yield created
    if created.level is Level.BAD:
        return
    keys = [f"replace/{number}" for number in range(ground.rounds(MOST))]
    for key in keys:
        ground.written(key, "first\n")
    tags = [ground.tag(key) for key in keys]
    answers = ground.crew.all("replace", tags=tags, at=ground.at(), step=ground.step)
    yield _judged(ground, "If-Match", "replace", answers)
    yield _stale(ground, tags)


def _ignored(ground: Ground) -> Finding | None:
    """An object that is there is created again, by another process: that must be refused, and change nothing."""
    for number in range(ONCE):
        key = f"again/{number}"
        if not ground.written(key, "first\n"):
            continue
        if ground.crew.one(number % ground.crew.size, "create_again", key=key, body="second\n") == WON:
            words = "what was there could be created again: condition is ignored"
            tried = f"{'an object' if not number else f'{number + 1} objects'}, twice"
            return Finding(check="If-None-Match: *", tried=tried, happened=words, level=Level.BAD, remedy=REMEDY)
    return None


def _judged(ground: Ground, name: str, act: str, answers: list[list[str]]) -> Finding:
    found = tally(answers)
    tried = f"{len(answers)} processes, {found.rounds} rounds"
    refused, late, lost = (0, 0, 0) if found.double else _compared(ground, act, answers)
    wrong = ""
    if not found.rounds:
        wrong = "no round came to its end: the store is too slow to try it"
    elif found.double:
        wrong = (
            f"{found.double} of {found.rounds} rounds had several winners (up to {found.most}): condition is ignored"
        )
    elif refused:
        wrong = f"{refused} writes that were refused took effect: the condition is applied after the fact"
    elif lost:
        wrong = f"{lost} writes that were confirmed are not there"
    if wrong:
        return Finding(check=name, tried=tried, happened=wrong, level=Level.BAD, remedy=REMEDY)
    many = act == "create"
    if late or found.none:
        happened = f"{found.none} of {found.rounds} rounds had only errors for an answer"
        happened += (
            f", and {late} of these took effect; dibs reads back and knows its own" if late else "; dibs tries again"
        )
        remedy = "look at the server's log, or at what stands between; each costs further requests"
        return Finding(check=name, tried=tried, happened=happened, level=Level.WARNING, remedy=remedy, many=many)
    return Finding(check=name, tried=tried, happened="one winner each time, and its write is there", many=many)


def _compared(ground: Ground, act: str, answers: list[list[str]]) -> tuple[int, int, int]:
    """What was said, beside what is there: (refused but there, an error but there, confirmed but not there)."""
    refused, late, lost = 0, 0, 0
    for number, words in enumerate(zip(*answers, strict=False)):
        there = ground.bucket.get(f"{act}/{number}")
        owner = next((me for me in range(len(words)) if there and there.body == body_of(me, number)), None)
        winners = [me for me, word in enumerate(words) if word == WON]
        if owner is not None and words[owner] == LOST:
            refused += 1
        elif owner is not None and words[owner] != WON and not winners:
            late += 1
        elif winners and owner not in winners:
            lost += 1
    return refused, late, lost


def _stale(ground: Ground, tags: list[str]) -> Finding:
    """Every object has been replaced since: a write from the first version must be refused, and change nothing."""
    taken, changed = 0, 0
    few = tags[:10]
    for number, tag in enumerate(few):
        word, _ = ground.bucket.put(f"replace/{number}", "stale\n", {"e_tag": tag})
        there = ground.bucket.get(f"replace/{number}")
        taken += word == WON
        changed += word != WON and there is not None and there.body == "stale\n"
    tried = f"{len(few)} writes from an old version"
    if taken:
        words = f"{taken} were taken: a worker that was taken over could finish a task"
        return Finding(check="stale If-Match", tried=tried, happened=words, level=Level.BAD, remedy=REMEDY)
    if changed:
        words = f"{changed} were refused and took effect all the same: the condition is applied after the fact"
        return Finding(check="stale If-Match", tried=tried, happened=words, level=Level.BAD, remedy=REMEDY)
    return Finding(check="stale If-Match", tried=tried, happened="refused, and nothing changed")
