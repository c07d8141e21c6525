"""The part of the host that begins: it waits for the others, sets the plan, and counts winners over all hosts."""

import os
import shlex
from collections.abc import Callable, Iterator
from typing import Any

from dibs.doctor.crew import Crew
from dibs.doctor.finding import Finding, Level
from dibs.doctor.folders import exclusive, locks, visible
from dibs.doctor.folders import plan as plans
from dibs.doctor.folders.ground import ACTS, PREFIX, Ground
from dibs.doctor.folders.mounts import mount_of
from dibs.doctor.folders.plan import Plan
from dibs.doctor.machines import machines
from dibs.doctor.race import tally
from dibs.errors import StorageError
from dibs.host import this_host
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
        f"dibs doctor {shlex.quote(os.path.dirname(ground.folder))} --join {code}"
    )
    offset = plans.server_offset(folder, ground.clock, ground.rng)
    others = _wait(ground, lambda: plans.present(folder), hosts - 1, WAIT_SECONDS)
    seen = ground.clock.boottime() + offset
    if len(others) < hosts - 1:
        words = f"{len(others)} of {hosts - 1} joined within {WAIT_SECONDS / 60:.0f} min"
        remedy = "try again"
        yield Finding(
            check="other hosts", tried="waited", happened=words, level=Level.ONE_HOST, remedy=remedy, passing=True
        )
        return
    tell("races between hosts")
    step = max(0.03, ground.step)
    count = min(40 if ground.quick else 100, int(5 / step))
    for name in (*plans.RACES, "markers/00"):
        os.makedirs(f"{folder}/{name}", exist_ok=True)
    sources = [exclusive.source(act, number) for act in ("rename", "marked") for number in range(count)]
    for name in (*sources, "locks/number", plans.OLD):
        os.makedirs(os.path.dirname(f"{folder}/{name}"), exist_ok=True)
        ground.write(f"{folder}/{name}", b"0 first\n")
    plan = Plan(at=ground.clock.boottime() + offset + _lead(folder, others, seen), count=count, step=step)
    plans.put(folder, "plan.json", plan.to_json())
    with Crew(ACTS, folder, plans.CREW, ground.clock) as crew:
        ours, made = _take_part(ground, folder, crew, plan, offset, others)
    answers = _answers(ground, folder, others)
    apart = _machines(folder, others)
    if apart == 1:
        words = "all who joined are on this machine: what other hosts see was not tried"
        remedy = "join from another machine"
        yield Finding(check="other hosts", tried="compared", happened=words, level=Level.WARNING, remedy=remedy)
    for found in _judged(ground, folder, apart, ours, list(answers.values()), made):
        yield replace(found, between=apart)


def _machines(folder: str, others: list[str]) -> int:
    hellos = [plans.get(folder, name) for name in others]
    return machines([hello for hello in hellos if hello is not None], this_host())


def _lead(folder: str, others: list[str], seen: float) -> float:
    """Whoever sees late that others are there is seen late by them; and where hosts are known not to see each other's
    files in time, that they are seen early now says nothing of what a host has looked for in vain."""
    row = mount_of(folder).row
    if row.shared and row.reach == "one":
        return LATE_LEAD_SECONDS
    written = max(os.stat(f"{folder}/{name}").st_mtime for name in others)
    return LEAD_SECONDS if seen - written < PROMPT_SECONDS else LATE_LEAD_SECONDS


def _take_part(
    ground: Ground, folder: str, crew: Crew, plan: Plan, offset: float, others: list[str]
) -> tuple[dict[str, Any], tuple[float, float]]:
    said: dict[str, Any] = {}
    for act in plans.RACES:
        said[act] = crew.all(act, mark="host-", **plan.race(act, offset))
        _all_there(folder, others)
    said["count"] = crew.all("count", **plan.additions(offset))
    looking = plan.start(len(plans.RACES) + 1) + 1.5 - offset  # by then the others do
    ground.clock.sleep(max(0.0, looking - ground.clock.boottime()))
    ground.write(f"{folder}/{plans.NEW}")
    made = ground.clock.boottime() + offset
    os.unlink(f"{folder}/{plans.OLD}")
    return said, (made, ground.clock.boottime() + offset)


def _judged(
    ground: Ground,
    folder: str,
    apart: int,
    ours: dict[str, Any],
    theirs: list[dict[str, Any]],
    made: tuple[float, float],
) -> Iterator[Finding]:
    where = f" on {apart} hosts" if apart > 1 else " on one machine"
    seen_from = " on another host" if apart > 1 else where
    doubled = False
    for act in plans.RACES:
        answers = [*ours[act], *(words for one in theirs for words in one[act])]
        sums = tally(answers)
        if act == "marked" and not doubled:
            continue
        doubled = act == "rename" and sums.double > 0
        found = exclusive.judged(act, len(answers), sums, where)
        won = sum(word == "won" for words in ours[act] for word in words)
        if found.level is Level.BAD:
            found = replace(found, level=Level.ONE_HOST)
        elif found.level is Level.GOOD and act in ("rename", "marked"):
            share = f"; this host won {won} of {sums.rounds}"
            found = replace(found, happened=found.happened + share, many=apart > 1 and 0 < won < sums.rounds)
        yield replace(found, check=f"{found.check}{exclusive.HOSTS}")
    added = [*ours["count"], *(one for their in theirs for one in their["count"])]
    counted = locks.sum_in(f"{folder}/locks", added, ground.clock)
    who = f"{len(added)} processes{where}"
    locked = locks.judged(who, added, counted, far=True, needed=ground.needs_locks)
    yield replace(locked, check="locks, hosts")
    for number, (what, name) in enumerate((("new", "new"), ("deleted", "old"))):
        for way in ("listed", "stat"):
            since = [max(made[number], one["looking"]) for one in theirs]
            seen = [one[f"{way} {name}"] for one in theirs]
            lags = [None if at is None else max(0.0, at - start) for at, start in zip(seen, since, strict=True)]
            worst = visible.worst(lags)
            ground.figures["listing_lag_seconds"] = max(worst, ground.figures.get("listing_lag_seconds", 0.0))
            label = "listing" if way == "listed" else "looking up"
            yield visible.judged(f"{label} {what} files, hosts", 1, worst, where=seen_from, far=True)


def _answers(ground: Ground, folder: str, others: list[str]) -> dict[str, dict[str, Any]]:
    def answered() -> list[str]:
        _all_there(folder, others)
        return plans.named(folder, plans.ANSWERS)

    names = _wait(ground, answered, len(others), plans.ANSWER_SECONDS + plans.LOOK_SECONDS)
    found = {name: plans.get(folder, name) for name in names}
    whole = {name: answer for name, answer in found.items() if answer is not None}
    if len(whole) < len(others):
        raise StorageError(f"{len(others) - len(whole)} host(s) did not answer in time; try again")
    return whole


def _all_there(folder: str, others: list[str]) -> None:
    """StorageError when one of those who take part has left."""
    for name in others:
        gone = plans.get(folder, name.replace(plans.HELLO, plans.GONE, 1))
        if gone is not None:
            raise StorageError(f"{gone['host']} has left: {gone['why']}; try again")


def _wait(ground: Ground, look: Callable[[], list[str]], wanted: int, seconds: float) -> list[str]:
    until = ground.clock.boottime() + seconds
    while True:
        names = look()
        if len(names) >= wanted or ground.clock.boottime() > until:
            return names
        ground.clock.sleep(plans.POLL_SECONDS)
