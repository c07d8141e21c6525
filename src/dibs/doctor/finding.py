"""One thing that was tried, and what came of it."""

from enum import StrEnum

from dibs.values import dataclass


class Level(StrEnum):
    GOOD = "good"
    NOTE = "note"  # worth knowing; nothing depends on it
    WARNING = "warning"  # it costs something, or a part of dibs cannot be used; nothing is lost
    ONE_HOST = "one host"  # right as long as one host alone uses the place
    BAD = "bad"  # tasks could be lost, or run by two at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    check: str
    tried: str  # what, how often
    happened: str
    level: Level = Level.GOOD
    remedy: str = ""
    many: bool = False  # it shows that several hosts may use the place
    between: int = 0  # so many hosts have tried it together
    locks: Level | None = None  # of what concerns locks: its level for queues that rest on them; for file: a warning
    marker: bool = False  # steps with markers make up for it
    passing: bool = False  # of this moment only, such as a full disk, or a host that left: it says nothing of the place


def said(error: Exception) -> tuple[str, str]:
    """(what happened, what to do), out of a line that says both."""
    text = str(error)
    happened, semicolon, remedy = text.rpartition("; ")
    return (happened, remedy) if semicolon else (text, "look at the storage's log, and try again")
