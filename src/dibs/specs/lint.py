"""Everything that is wrong with a folder of specs: the file, the line and the reason of each problem.

A problem of one field does not hide those of others. Files are read again only where something was found, for its line.
"""

import os
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from dibs.errors import BadInput, MissingExtra
from dibs.specs.archive import Archive
from dibs.specs.badspec import BadSpec
from dibs.specs.fields import READINGS, line_of
from dibs.specs.frontmatter import read
from dibs.specs.graph import MISSING, Graph
from dibs.specs.listing import Listing
from dibs.specs.reading import READ_AT_MOST
from dibs.specs.spec import Broken, Spec
from dibs.specs.statuses import Status

_NOT_STARTED = (Status.PENDING, Status.BLOCKED)


class Problem(NamedTuple):
    path: str
    line: int | None
    reason: str


def lint(listing: Listing) -> list[Problem]:
    """By path, then line."""
    graph = Graph(listing.nodes, Archive(listing.folder))
    found = {*_files(listing), *_circles(listing, graph), *_twins(listing)}
    for place, id in enumerate(listing.ids):  # noqa: A001
        if any([graph.standing(ref) == MISSING for ref in listing.nodes.waits[place]]):
            found.update(_missing(listing, graph, id))
    return sorted(found, key=lambda problem: (problem.path, problem.line or 0, problem.reason))


def _files(listing: Listing) -> Iterator[Problem]:
    for spec in listing:
        if isinstance(spec, Broken):
            yield from _broken(spec)
        else:
            yield from _spec(spec)


def _broken(spec: Broken) -> Iterator[Problem]:
    """Every field that is wrong, if the file can be parsed; else what was found first."""
    yield Problem(spec.path, spec.line, spec.reason)
    if spec.line is None:
        return
    data = _data(spec.path)
    try:
        fields = read(data)
    except (BadSpec, MissingExtra):
        return
    for name, value in fields.items():
        if name in READINGS and value is not None:
            try:
                READINGS[name](value)
            except BadInput as error:
                yield Problem(spec.path, line_of(data, name), f"{name}: {error}")


def _spec(spec: Spec) -> Iterator[Problem]:
    for name, reason in (*_ownership(spec), *_references(spec), *_strange(spec)):
        yield Problem(spec.path, line_of(_data(spec.path), name), f"{name}: {reason}")
    yield from _conflicts(spec)


def _conflicts(spec: Spec) -> Iterator[Problem]:
    """What git left in the text for people to decide; in the fields it makes the file unreadable anyway."""
    for number, line in enumerate(_data(spec.path).split(b"\n"), 1):
        if line.startswith((b"<<<<<<< ", b">>>>>>> ")):
            yield Problem(spec.path, number, "a conflict of a merge is left in the text; settle it")
            return


def _ownership(spec: Spec) -> Iterator[tuple[str, str]]:
    if spec.status in _NOT_STARTED and spec.started_by is not None:
        yield "started_by", f"names {spec.started_by!r}, but the spec is {spec.status}; take it out, or set in_progress"
    if spec.status is Status.IN_PROGRESS and spec.started_by is None:
        yield "status", "is in_progress, but nobody is named in started_by"
    if spec.status is not Status.COMPLETED and spec.completed_at is not None:
        yield "completed_at", f"is set, but the spec is {spec.status}; take it out, or set completed"
    for name in ("started_at", "completed_at"):
        text = getattr(spec, name)
        if text is not None and not _is_time(text):
            yield name, f"{text[:80]!r} is not a time; use 2026-11-16T09:00:00Z"


def _references(spec: Spec) -> Iterator[tuple[str, str]]:
    for name in ("depends_on", "members"):
        if spec.id in getattr(spec, name):
            yield name, "the spec waits for itself; take it out"


def _strange(spec: Spec) -> Iterator[tuple[str, str]]:
    for name in spec.more:
        plain = _plain(name)
        for known in READINGS:
            if plain == _plain(known):
                yield name, f"is not a field that dibs knows; is {known} meant?"


def _plain(name: str) -> str:
    """A field's name without what is easily mistaken."""
    return name.lower().replace("-", "").replace("_", "").replace("s", "")


def _missing(listing: Listing, graph: Graph, id: str) -> Iterator[Problem]:  # noqa: A002
    spec = listing.get(id)
    if isinstance(spec, Spec):
        for name in ("depends_on", "members"):
            for ref in getattr(spec, name):
                if graph.standing(ref) == MISSING:
                    line = line_of(_data(spec.path), name)
                    yield Problem(spec.path, line, f"{name}: {ref!r} is neither here nor in the archive")


def _circles(listing: Listing, graph: Graph) -> Iterator[Problem]:
    for circle in graph.cycles:
        if len(circle) > 1:
            spec = listing.at(circle[0])
            reason = f"depends_on: goes round in a circle: {graph.drawn(circle)}; take one of these out"
            yield Problem(spec.path, line_of(_data(spec.path), "depends_on"), reason)


def _twins(listing: Listing) -> Iterator[Problem]:
    """Names that are one name on a disk that knows no case or other forms of a letter."""
    first: dict[str, str] = {}
    for id in sorted(listing.ids):  # noqa: A001
        other = first.setdefault(unicodedata.normalize("NFC", id).casefold(), id)
        if other != id:
            reason = f"its name is the same as {other}.md where case does not count; rename one"
            yield Problem(listing.get(id).path, None, reason)


def _is_time(text: str) -> bool:
    from datetime import datetime

    try:
        datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return False
    return True


def _data(path: str) -> bytes:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            return file.read(READ_AT_MOST)
    except OSError:
        return b""
