"""Conditional writes under contention: one winner, and what is there is what the winner wrote."""

from collections.abc import Iterable, Iterator

from dibs.doctor.buckets.acts import body_of
from dibs.doctor.buckets.answers import answered_badly, answers_to_writes
from dibs.doctor.buckets.driver import NO_ANSWER
from dibs.doctor.buckets.ground import Ground
from dibs.doctor.finding import Finding, Level
from dibs.doctor.race import LOST, WON, Tally, tally

MOST = 100
ONCE = 5
STALE = 10
_FEW = 0.05  # of the rounds may come to nothing, through errors that pass
_NOT_OFFERED = {"HTTP 400", "HTTP 405", "HTTP 501"}
REMEDY = "use a server that honours conditional writes, such as Amazon S3, MinIO, SeaweedFS or Cloudflare R2"


def check(ground: Ground) -> Iterator[Finding]:
    """First whether the condition is honoured at all: a store that ignores it may be too slow to be raced."""
    at_once = _at_once(ground)
    if at_once is not None:
        yield at_once
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
    replaced = _judged(ground, "If-Match", "replace", answers)
    yield replaced
    if replaced.level is not Level.BAD:
        yield _stale(ground, tags)


def _at_once(ground: Ground) -> Finding | None:
    """An object that is there is created again, by another process: that must be refused, and change nothing."""
    words = []
    for number in range(ONCE):
        key = f"again/{number}"
        if not ground.written(key, "first\n"):
            continue
        words.append(ground.crew.one(number % ground.crew.size, "create_again", key=key, body="second\n"))
        if words[-1] == WON:
            happened = "what was there could be created again: condition is ignored"
            tried = f"{'an object' if not number else f'{number + 1} objects'}, twice"
            return Finding(check="If-None-Match: *", tried=tried, happened=happened, level=Level.BAD, remedy=REMEDY)
        if words[-1] == NO_ANSWER:
            break  # the next would take as long
    if answered_badly(ground.words):
        return answers_to_writes(ground.words)
    if not_offered := _not_offered(words):
        tried = f"{len(words)} objects, twice"
        return Finding(check="If-None-Match: *", tried=tried, happened=not_offered, level=Level.BAD, remedy=REMEDY)
    return None


def _not_offered(words: Iterable[str]) -> str:
    """What to say of answers that are all alike and say so; else nothing."""
    told = set(words)
    if told and told <= _NOT_OFFERED:
        return f"conditional writes are not offered ({', '.join(sorted(told))})"
    return ""


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
    else:
        wrong = _useless(found, late, answers)
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


def _useless(found: Tally, late: int, answers: list[list[str]]) -> str:
    """Nobody is wronged, and nobody gets anything done: why, or nothing."""
    if found.none - late >= _FEW * found.rounds:
        told = ", ".join(found.oddities) or "that another was first"
        return _not_offered(word for words in answers for word in words) or (
            f"{found.none - late} of {found.rounds} rounds had none (they were told {told})"
        )
    if late * 2 > found.rounds:
        return f"in {late} of {found.rounds} rounds the write took effect, and to nobody it was confirmed"
    return ""


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
    taken, changed, odd = 0, 0, []
    few = tags[:STALE]
    for number, tag in enumerate(few):
        word = _asked_until_clear(ground, f"replace/{number}", tag)
        there = ground.bucket.get(f"replace/{number}")
        taken += word == WON
        changed += word != WON and there is not None and there.body == "stale\n"
        odd += [word] if word not in (WON, LOST) else []
    tried = f"{len(few)} writes from an old version"
    wrong = ""
    if taken:
        wrong = f"{taken} were taken: a worker that was taken over could finish a task"
    elif changed:
        wrong = f"{changed} were refused and took effect all the same: the condition is applied after the fact"
    elif odd:
        wrong = f"{len(odd)} were not refused but answered by {', '.join(sorted(set(odd)))}, again and again"
    if wrong:
        return Finding(check="stale If-Match", tried=tried, happened=wrong, level=Level.BAD, remedy=REMEDY)
    return Finding(check="stale If-Match", tried=tried, happened="refused, and nothing changed")


def _asked_until_clear(ground: Ground, key: str, tag: str) -> str:
    """An error that passes says nothing about the condition."""
    for _ in range(ONCE):
        word, _tag = ground.bucket.put(key, "stale\n", {"e_tag": tag})
        if word in (WON, LOST):
            break
    return word
