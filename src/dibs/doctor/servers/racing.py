"""One race on a server: who is told that it won?"""

from typing import Any

from dibs.clock import Clock
from dibs.doctor.crew import Crew
from dibs.doctor.finding import Finding, Level
from dibs.doctor.race import tally


def raced(acts: str, place: Any, clock: Clock, *, crew: int, count: int, step: float, check: str) -> Finding:
    """Processes of `acts` do their `step` in each round. One winner each time shows that the server decides."""
    with Crew(acts, place, crew, clock) as members:
        members.all("ready")
        answers = members.all("race", count=count, at=clock.boottime() + 0.05, step=step)
    found = tally(answers)
    tried = f"{crew} processes, {found.rounds} rounds"
    if found.double:
        words = f"{found.words}: two workers could hold one task"
        return Finding(check=check, tried=tried, happened=words, level=Level.BAD, remedy="use another server")
    if found.none:
        return Finding(check=check, tried=tried, happened=found.words, level=Level.WARNING, remedy="see its log")
    return Finding(check=check, tried=tried, happened=found.words, many=True)
