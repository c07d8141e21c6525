"""Creating a name, by O_EXCL and by link, and renaming one source: each must have one winner. Where only the last has
not, and nothing else is wrong, queues can go by markers; then that is tried too."""

from collections.abc import Iterator

from dibs.doctor.finding import Finding, Level
from dibs.doctor.folders.ground import Ground
from dibs.doctor.folders.room import FULL, MORE
from dibs.doctor.race import Tally, tally
from dibs.doctor.report import Report
from dibs.values import replace

MOST = 400
_NO_LINKS = {"EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EXDEV"}
_NAMES = {
    "create": "exclusive create",
    "link": "exclusive link",
    "rename": "contested rename",
    "marked": "rename with markers",
}
_REMEDY = "new file: queues go by markers here; of others move the tasks: dibs move QUEUE 'NEW?steps=marker'"
_MARKED = (_NAMES["rename"], _NAMES["marked"])
HOSTS = ", hosts"
_TWO = "two workers could hold one task"
ELSEWHERE = "use a local disk, NFS 4 or SMB 3, a bucket by s3:, or a database"


def check(ground: Ground) -> Iterator[Finding]:
    for act in ("create", "link", "rename"):
        count = ground.rounds(MOST)
        prepare(ground, act, count)
        answers = ground.crew.all(act, count=count, at=ground.at(), step=ground.step)
        found = tally(answers)
        yield judged(act, ground.crew.size, found)
    if found.double:
        count = ground.rounds(MOST // 4)
        prepare(ground, "marked", count)
        answers = ground.crew.all("marked", count=count, at=ground.at(), step=4 * ground.step)
        yield judged("marked", ground.crew.size, tally(answers))


def relieve(report: Report) -> None:
    """Contested renames that let two through are the only fault, and with markers one was let through."""
    doubled = _doubled(report)
    marked = {one.check: one.level is Level.GOOD for one in report.findings if one.check.startswith(_NAMES["marked"])}
    faults = [one for one in report.findings if one.level is Level.BAD and one not in doubled]
    if not doubled or faults or not all(marked.get(one.check.replace(*_MARKED)) for one in doubled):
        return
    report.steps = "marker"
    level = Level.WARNING if marked.get(_NAMES["marked"] + HOSTS) else Level.ONE_HOST
    for one in doubled:
        happened = one.happened.replace(_TWO, "file: queues need markers")
        report.findings[report.findings.index(one)] = replace(
            one, level=level, happened=happened, remedy=_REMEDY, marker=True
        )
    report.advice.append(f"a contested rename lets two through: {_REMEDY}")


def hopeless(report: Report) -> bool:
    """Something is wrong that markers do not mend."""
    doubled = _doubled(report)
    return any(one.level is Level.BAD and one not in doubled for one in report.findings)


def _doubled(report: Report) -> list[Finding]:
    return [one for one in report.findings if one.check.startswith(_NAMES["rename"]) and _TWO in one.happened]


def prepare(ground: Ground, act: str, count: int) -> None:
    ground.sub(act)
    if act in ("rename", "marked"):
        for number in range(count):
            ground.write(f"{ground.folder}/{source(act, number)}")


def source(act: str, number: int) -> str:
    """What is moved away in a round."""
    return f"{act}/{number:032x}" if act == "marked" else f"{act}/{number}"


def judged(act: str, racers: int, found: Tally, where: str = "") -> Finding:
    name = _NAMES[act]
    tried = f"{racers} processes{where}, {found.rounds} rounds"
    if act == "link" and found.none == found.rounds > 0 and set(found.oddities) <= _NO_LINKS:
        words = f"there are no hard links here ({', '.join(found.oddities)}); dibs goes by O_EXCL"
        return Finding(check=name, tried=tried, happened=words, level=Level.NOTE)
    if not found.rounds:
        words = "no round came to its end: the place is too slow to try it"
        remedy = "look at the mount, try again"
        return Finding(check=name, tried=tried, happened=words, level=Level.BAD, remedy=remedy, passing=True)
    if found.double:
        return Finding(check=name, tried=tried, happened=f"{found.words}: {_TWO}", level=Level.BAD, remedy=ELSEWHERE)
    if found.none:
        out_of_reach = "a task could be out of everybody's reach"
        lost = out_of_reach if act in ("rename", "marked") else "nobody may be told that it won"
        level = Level.WARNING if found.none * 20 < found.rounds else Level.BAD
        full = bool(found.oddities) and set(found.oddities) <= FULL
        remedy, lost = (MORE, "there is no room") if full else (ELSEWHERE, lost)
        words = f"{found.words}: {lost}"
        return Finding(check=name, tried=tried, happened=words, level=level, remedy=remedy, passing=full)
    return Finding(check=name, tried=tried, happened=found.words, level=Level.NOTE if found.oddities else Level.GOOD)
