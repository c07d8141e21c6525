"""The part of the host that begins: it waits for the others, sets the plan, and counts winners over all hosts."""

import os
from collections.abc import Callable, Iterator
from typing import Any

from dibs.doctor.crew import Crew
from dibs.doctor.finding import Finding, Level
from dibs.doctor.folders import exclusive, locks, visible
from dibs.doctor.folders import plan as plans
from dibs.doctor.folders.ground import ACTS, PREFIX, Ground
from dibs.doctor.folders.plan import Plan
from dibs.doctor.race import tally
from dibs.errors import StorageError
from dibs.values import replace

WAIT_SECONDS = 600.0
LEAD_SECONDS = 8.0  # from the plan to the first race: the others must have read it by then
LATE_LEAD_SECONDS = 40.0  # where folders are remembered for long
PROMPT_SECONDS = 2.5  # a whole second of it may be the time stamp's own


def check(ground: Ground, tell: Callable[[str], None], hosts: int) -> Iterator[Finding]:
    folder = ground.sub("hosts")
    plans.put(folder, "begun.json", {})  # some show a folder to others only once there is something in it
    code = os.path.basename(ground.folder).removeprefix(PREFIX)
    tell(
        f"!on {'the' if hosts == 2 else hosts - 1} other host{'s' if hosts > 2 else ''}: "
        f"dibs doctor {os.path.dirname(ground.folder)} --join {code}"
    )
    offset = plans.server_offset(folder, ground.clock, ground.rng)
    others = _wait(ground, folder, "hello-", hosts - 1, WAIT_SECONDS)
    seen = ground.clock.boottime() + offset
    if len(others) < hosts - 1:
        words = f"{len(others)} of {hosts - 1} joined within {WAIT_SECONDS / 60:.0f} min"
        yield Finding(check="other hosts", tried="waited", happened=words, level=Level.ONE_HOST, remedy="try again")
        return
    tell("races between hosts")
    step = max(0.03, ground.step)
    count = min(40 if ground.quick else 100, int(5 / step))
    for act in plans.RACES:
        os.makedirs(f"{folder}/{act}", exist_ok=True)
    for name in (*(f"rename/{number}" for number in range(count)), "locks/number", plans.OLD):
        os.makedirs(os.path.dirname(f"{folder}/{name}"), exist_ok=True)
        ground.write(f"{folder}/{name}", b"0 first\n")
    plan = Plan(at=ground.clock.boottime() + offset + _lead(folder, others, seen), count=count, step=step)
    plans.put(folder, "plan.json", plan.to_json())
    with Crew(ACTS, folder, plans.CREW, ground.clock) as crew:
        ours, made = _take_part(ground, folder, crew, plan, offset)
    answers = _answers(ground, folder, others)
    yield from _judged(ground, folder, plan, ours, list(answers.values()), made)


def _lead(folder: str, others: list[str], seen: float) -> float:
    """Whoever sees late that others are there is seen late by them."""
    written = max(os.stat(f"{folder}/{name}").st_mtime for name in others)
    return LEAD_SECONDS if seen - written < PROMPT_SECONDS else LATE_LEAD_SECONDS


def _take_part(
    ground: Ground, folder: str, crew: Crew, plan: Plan, offset: float
) -> tuple[dict[str, Any], tuple[float, float]]:
    said: dict[str, Any] = {}
    for number, act in enumerate(plans.RACES):
        at = plan.start(number) - offset
        said[act] = crew.all(act, count=plan.count, at=at, step=plan.step, mark="host-")
    said["count"] = crew.all("count", **plan.additions(offset))
    ground.clock.sleep(max(0.0, plan.start(4) + 1.5 - offset - ground.clock.boottime()))  # by now the others look
    ground.write(f"{folder}/{plans.NEW}")
    made = ground.clock.boottime() + offset
    os.unlink(f"{folder}/{plans.OLD}")
    return said, (made, ground.clock.boottime() + offset)


def _judged(
    ground: Ground,
    folder: str,
    plan: Plan,
    ours: dict[str, Any],
    theirs: list[dict[str, Any]],
    made: tuple[float, float],
) -> Iterator[Finding]:
    hosts = len(theirs) + 1
    for act in plans.RACES:
        answers = [*ours[act], *(words for one in theirs for words in one[act])]
        found = exclusive.judged(act, len(answers), tally(answers), f" on {hosts} hosts")
        won = sum(word == "won" for words in ours[act] for word in words)
        if found.level is Level.BAD:
            found = replace(found, level=Level.ONE_HOST)
        elif found.level is Level.GOOD and act == "rename":
            share = f"; this host won {won} of {plan.count}"
            found = replace(found, happened=found.happened + share, many=0 < won < plan.count)
        yield replace(found, check=f"{found.check}, hosts")
    added = [*ours["count"], *(one for their in theirs for one in their["count"])]
    sums = locks.sum_in(f"{folder}/locks", ground.clock)
    who = f"{len(added)} processes on {hosts} hosts"
    locked = locks.judged(who, added, sums, far=True, needed=ground.needs_locks)
    yield replace(locked, check="locks, hosts")
    for number, (what, name) in enumerate((("new", "new"), ("deleted", "old"))):
        for way in ("listed", "stat"):
            since = [max(made[number], one["looking"]) for one in theirs]
            seen = [one[f"{way} {name}"] for one in theirs]
            lags = [None if at is None else max(0.0, at - start) for at, start in zip(seen, since, strict=True)]
            worst = visible.worst(lags)
            ground.figures["listing_lag_seconds"] = max(worst, ground.figures.get("listing_lag_seconds", 0.0))
            label = "listing" if way == "listed" else "looking up"
            yield visible.judged(f"{label} {what} files, hosts", 1, worst, far=True)


def _answers(ground: Ground, folder: str, others: list[str]) -> dict[str, dict[str, Any]]:
    names = _wait(ground, folder, "answers-", len(others), plans.ANSWER_SECONDS + plans.LOOK_SECONDS)
    found = {name: plans.get(folder, name) for name in names}
    whole = {name: answer for name, answer in found.items() if answer is not None}
    if len(whole) < len(others):
        raise StorageError(f"{len(others) - len(whole)} host(s) did not answer in time")
    return whole


def _wait(ground: Ground, folder: str, prefix: str, wanted: int, seconds: float) -> list[str]:
    until = ground.clock.boottime() + seconds
    while True:
        names = [one for one in os.listdir(folder) if one.startswith(prefix) and one.endswith(".json")]
        if len(names) >= wanted or ground.clock.boottime() > until:
            return names
        ground.clock.sleep(plans.POLL_SECONDS)
