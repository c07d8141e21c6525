"""Creating a name, by O_EXCL and by link, and renaming one source: each must have one winner."""

from collections.abc import Iterator

from dibs.doctor.finding import Finding, Level
from dibs.doctor.folders.ground import Ground
from dibs.doctor.race import Tally, tally

MOST = 400
_NO_LINKS = {"EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EXDEV"}
ELSEWHERE = "use a local disk, NFS 4 or SMB 3, a bucket by s3:, or a database"


def check(ground: Ground) -> Iterator[Finding]:
    for act in ("create", "link", "rename"):
        count = ground.rounds(MOST)
        prepare(ground, act, count)
        answers = ground.crew.all(act, count=count, at=ground.at(), step=ground.step)
        yield judged(act, ground.crew.size, tally(answers))


def prepare(ground: Ground, act: str, count: int) -> None:
    folder = ground.sub(act)
    if act == "rename":
        for number in range(count):
            ground.write(f"{folder}/{number}")


def judged(act: str, racers: int, found: Tally, where: str = "") -> Finding:
    name = {"create": "exclusive create", "link": "exclusive link", "rename": "contested rename"}[act]
    tried = f"{racers} processes{where}, {found.rounds} rounds"
    if act == "link" and found.none == found.rounds and set(found.oddities) <= _NO_LINKS:
        words = f"there are no hard links here ({', '.join(found.oddities)}); dibs goes by O_EXCL"
        return Finding(check=name, tried=tried, happened=words, level=Level.NOTE)
    if found.double:
        two = "two workers could hold one task"
        return Finding(check=name, tried=tried, happened=f"{found.words}: {two}", level=Level.BAD, remedy=ELSEWHERE)
    if found.none:
        lost = "nobody may be told that it won" if act != "rename" else "a task could be out of everybody's reach"
        level = Level.WARNING if found.none * 20 < found.rounds else Level.BAD
        return Finding(check=name, tried=tried, happened=f"{found.words}: {lost}", level=level, remedy=ELSEWHERE)
    return Finding(check=name, tried=tried, happened=found.words, level=Level.NOTE if found.oddities else Level.GOOD)
