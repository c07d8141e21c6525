"""Claims that a daemon made for its workers, and who they are: the form of the file in which it notes them.

A line is a JSON list: the first says which daemon it is (`["dibs", 1, NAME]`); then what happened, `["+", task, epoch,
session]` a claim, `["-", task, epoch]` its end, `["@", session]` a worker connected, `["!", session]` it hung up. The
daemon that writes it has the file locked for as long as it lives. A line that is not whole says nothing.
"""

import re
from typing import Any, NamedTuple

from dibs.errors import BadInput
from dibs.queues.views import Claim
from dibs.task import decode, encode
from dibs.values import replace

SUFFIX = ".claims"
VERSION = 1
Name = tuple[str, int]  # a task and the epoch of its lease


class Behalf:
    """What one such file says."""

    def __init__(self, via: str = "") -> None:
        self.via = via
        self.sessions: dict[Name, str] = {}
        self.seen: set[str] = set()  # sessions that were connected at some time
        self.connected: set[str] = set()


class Line(NamedTuple):
    sign: str
    name: Name = ("", 0)
    session: str = ""


def written(line: Line) -> bytes:
    name: list[Any] = [*line.name] if line.sign in "+-" else []
    return encode([line.sign, *name, *([line.session] if line.sign != "-" else [])])


def heading(via: str) -> bytes:
    return encode(["dibs", VERSION, via])


def read(data: bytes) -> Behalf:
    first, _, rest = data.partition(b"\n")
    match _decoded(first):
        case ["dibs", 1, str(via)]:
            said = Behalf(via)
        case _:
            return Behalf()
    for text in rest.split(b"\n"):
        match _decoded(text):
            case ["+", str(task), int(epoch), str(session)]:
                said.sessions[task, epoch] = session
            case ["-", str(task), int(epoch)]:
                said.sessions.pop((task, epoch), None)
            case ["@", str(session)]:
                said.seen.add(session)
                said.connected.add(session)
            case ["!", str(session)]:
                said.connected.discard(session)
    return said


def named(claim: Claim, session: str, via: str) -> Claim:
    """As people want to see it: the worker holds it, not the daemon. Workers of dibs call their session by host, pid
    and a number drawn for it."""
    found = re.fullmatch(r"(.+)-(\d{1,9})-[0-9a-f]{8}", session)
    host, pid = (found[1], int(found[2])) if found else ("", None)
    return replace(claim, worker=session, host=host, pid=pid, via=via)


def _decoded(text: bytes) -> Any:
    try:
        return decode(text) if text else None
    except BadInput:
        return None
