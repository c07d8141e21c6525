"""One race on a server: who is told that it won? And how many writes a second it takes."""

from typing import Any

from dibs.clock import Clock
from dibs.doctor.crew import Crew
from dibs.doctor.crowd import fed
from dibs.doctor.finding import Finding, Level
from dibs.doctor.race import tally
from dibs.doctor.report import Report

WRITES = 3  # of a task that is pushed, claimed and completed
FEW = 20  # one round in so many may come to nothing
_SECONDS = 0.5


def raced(acts: str, place: Any, clock: Clock, *, crew: int, count: int, step: float, check: str) -> Finding:
    """Processes of `acts` do their `step` in each round. One winner each time shows that the server decides."""
    with Crew(acts, place, crew, clock) as members:
        members.all("ready")
        answers = members.all("race", count=count, at=clock.boottime() + 0.05, step=step)
    found = tally(answers)
    tried = f"{crew} processes, {found.rounds} rounds"
    if not found.rounds:
        words = "no round came to its end: the server is too slow to try it"
        return Finding(check=check, tried=tried, happened=words, level=Level.BAD, remedy="look at it, and try again")
    if found.double:
        words = f"{found.words}: two workers could hold one task"
        return Finding(check=check, tried=tried, happened=words, level=Level.BAD, remedy="use another server")
    if found.none:
        level = Level.BAD if found.none > max(1, found.rounds // FEW) else Level.WARNING
        return Finding(check=check, tried=tried, happened=found.words, level=level, remedy="see its log")
    return Finding(check=check, tried=tried, happened=found.words, many=True)


def paced(report: Report, acts: str, place: Any, clock: Clock, *, crew: int) -> Finding:
    """Processes of `acts` write one thing each, again and again."""
    with Crew(acts, place, crew, clock) as members:
        members.all("ready")
        rate = sum(done / taken for done, taken in members.all("pace", seconds=_SECONDS))
    report.figures |= {"writes_per_second": round(rate, 1), "tasks_per_second": round(rate / WRITES, 1)}
    report.advice.append(
        f"feeds {fed(rate / WRITES, 10)} workers whose tasks take 10 s each, {fed(rate / WRITES, 1)} with tasks of a "
        "second; short ones are taken faster by --batch"
    )
    return Finding(check="pace", tried=f"{crew} processes for {_SECONDS:g} s", happened=f"{rate:,.0f} single writes/s")
