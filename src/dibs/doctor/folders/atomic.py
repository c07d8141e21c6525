"""A rename has happened or has not: nobody may see a file at two names, at none, or in part."""

import os
from collections.abc import Iterator

from dibs.doctor.finding import Finding, Level
from dibs.doctor.folders.acts import WHOLE
from dibs.doctor.folders.exclusive import ELSEWHERE
from dibs.doctor.folders.ground import Ground
from dibs.mounts import on_share

_WATCHERS = 2
_REPLACING = "replacing rename"


def check(ground: Ground) -> Iterator[Finding]:
    yield _moves(ground)
    yield _replaced(ground)


def _moves(ground: Ground) -> Finding:
    count, at, step = ground.rounds(200), ground.at(0.1), ground.step
    folder = ground.sub("moves")
    ground.write(f"{folder}/0", WHOLE)
    for watcher in range(_WATCHERS):
        ground.crew.tell(watcher, "watch_moves", count=count, at=at, step=step)
    for number in range(count):
        ground.clock.sleep(max(0.0, at + number * step - ground.clock.boottime()))
        os.rename(f"{folder}/{number}", f"{folder}/{number + 1}")
    seen = _sum([ground.crew.hear(watcher) for watcher in range(_WATCHERS)])
    wrong = {
        "two": "at both names at once",
        "none": "at neither name for a while",
        "part": "in part at its new name",
    }
    return _judged("atomic rename", f"{count} moves, {seen['looked']} seen", seen, wrong)


def _replaced(ground: Ground) -> Finding:
    folder = ground.sub("replaced")
    ground.write(f"{folder}/file", WHOLE)
    until = ground.at(0.3 if ground.quick else 1.0)
    for watcher in range(_WATCHERS):
        ground.crew.tell(watcher, "watch_replaced", until=until)
    times, refused, words = 0, 0, ""
    while ground.clock.boottime() < until:
        times += 1
        try:
            os.rename(ground.write(f"{folder}/new", WHOLE), f"{folder}/file")
        except OSError as error:
            refused, words = refused + 1, error.strerror or str(error)
    seen = _sum([ground.crew.hear(watcher) for watcher in range(_WATCHERS)])
    tried = f"{times} times, {seen['looked']} looks"
    if seen["none"] and not seen["part"]:
        words = f"{seen['none']} looks found no file for a moment; dibs looks again before it acts on that"
        remedy = "prefer another place for keys, dir: and specs:"
        return Finding(check=_REPLACING, tried=tried, happened=words, level=Level.WARNING, remedy=remedy)
    if refused and not seen["part"]:
        fails = "specs:" if on_share(folder) else "keys, dir: and specs:"
        happened = f"{refused} were refused while others read the file ({words}): heartbeats are late, {fails} may fail"
        remedy = f"do without {fails} here, and give workers a --ttl of a minute or more"
        return Finding(check=_REPLACING, tried=tried, happened=happened, level=Level.WARNING, remedy=remedy)
    return _judged(_REPLACING, tried, seen, {"none": "missing in between", "part": "in part"})


def _sum(found: list[dict[str, int]]) -> dict[str, int]:
    return {name: sum(one[name] for one in found) for name in found[0]}


def _judged(check: str, tried: str, seen: dict[str, int], wrong: dict[str, str]) -> Finding:
    faults = [f"{words} {seen[name]} times" for name, words in wrong.items() if seen[name]]
    if not faults:
        return Finding(check=check, tried=tried, happened="whole at one name whenever it was looked at")
    happened = f"rename is not atomic, the file was seen {', '.join(faults)}: a task could be lost or doubled"
    return Finding(check=check, tried=tried, happened=happened, level=Level.BAD, remedy=ELSEWHERE)
