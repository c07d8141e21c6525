"""Merging two versions of a spec file: fields by what they mean, everything else by git's own text merge.

A field that one side changed takes that side's lines; the more advanced `status` wins, and brings along who worked on
the spec and how it ended (`settling`); lists keep the additions and removals of both sides. The order of fields is
ours. Comments between fields and the body are merged as text, with the settled fields written alike into all versions
first. What cannot be settled stays a conflict with git's markers.
"""

import os
import subprocess
import tempfile
from collections.abc import Callable
from typing import Any

from dibs.errors import BadInput, MissingExtra, StorageError
from dibs.specs.badspec import BadSpec
from dibs.specs.layout import Layout
from dibs.specs.settling import ABSENT, CONFLICT, settle

Lines = list[bytes]


def merge(base: bytes, ours: bytes, theirs: bytes, rank: Callable[[str], int]) -> tuple[bytes, bool]:
    """The merged file, and whether conflicts are marked in it.

    `rank` says how advanced a status is; of two with the same rank neither wins. Files whose frontmatter cannot be
    read are merged as mere text. StorageError when git cannot be run.
    """
    try:
        merged = _by_fields(Layout(base), Layout(ours), Layout(theirs), rank)
    except (BadInput, MissingExtra):
        merged = None
    return merged or _as_text(base, ours, theirs)


def _by_fields(base: Layout, ours: Layout, theirs: Layout, rank: Callable[[str], int]) -> tuple[bytes, bool] | None:
    """None when the fields would not come out as they should."""
    wanted: dict[str, Any] = {}
    lines: dict[str, Lines] = {}
    marked: dict[str, Lines] = {}
    for key, value in settle(base.values, ours.values, theirs.values, rank).items():
        if value is CONFLICT:
            value = ours.values.get(key, ABSENT)
            marked[key] = [b"<<<<<<< ours", *ours.lines(key), b"=======", *theirs.lines(key), b">>>>>>> theirs"]
        lines[key] = _lines(key, value, base, ours, theirs)
        if value is not ABSENT:
            wanted[key] = value
    head, conflicts = _head(base, ours, theirs, lines)
    if not conflicts and not _reads_as(wanted, head):
        return None
    if marked:
        head, conflicts = _head(base, ours, theirs, lines | marked)
    body, in_body = _as_text(base.body, ours.body, theirs.body)
    if head and body and not head.endswith(b"\n"):
        head += b"\n"
    return head + body, conflicts or in_body or bool(marked)


def _head(base: Layout, ours: Layout, theirs: Layout, lines: dict[str, Lines]) -> tuple[bytes, bool]:
    """The frontmatter with its fences, with these lines for the fields."""
    head = ours.put(ours.ended(lines))
    if [line.rstrip() for line in theirs.between] == [line.rstrip() for line in base.between]:
        return head, False
    # Fields that all have stand in all of them, as context; the others in ours only.
    rest = {key: new if all(key in side.values for side in (base, ours, theirs)) else [] for key, new in lines.items()}
    return _as_text(base.put(base.ended(rest), fenced=True), head, theirs.put(theirs.ended(rest), fenced=True))


def _lines(key: str, value: Any, base: Layout, ours: Layout, theirs: Layout) -> Lines:
    """The lines of a settled field: as a side wrote them, where one has just that value."""
    if value is ABSENT:
        return []
    same = [side for side in (ours, theirs) if repr(side.values.get(key, ABSENT)) == repr(value)]
    if len(same) == 2 and ours.lines(key) == base.lines(key):
        return theirs.lines(key)
    if same:
        return same[0].lines(key)
    return (ours if key in ours.values else theirs).with_value(key, value)


def _reads_as(wanted: dict[str, Any], data: bytes) -> bool:
    try:
        return repr(sorted(Layout(data).values.items())) == repr(sorted(wanted.items()))
    except BadSpec:
        return False


def _as_text(base: bytes, ours: bytes, theirs: bytes) -> tuple[bytes, bool]:
    if ours == theirs or base == theirs:
        return ours, False
    if base == ours:
        return theirs, False
    with tempfile.TemporaryDirectory(prefix="dibs-merge-") as folder:
        names = []
        for name, data in (("ours", ours), ("base", base), ("theirs", theirs)):
            names.append(os.path.join(folder, name))
            with open(names[-1], "wb") as file:
                file.write(data)
        command = ["git", "merge-file", "-p", "-L", "ours", "-L", "base", "-L", "theirs", *names]
        try:
            done = subprocess.run(command, capture_output=True, check=False)
        except OSError as error:
            raise StorageError(f"git cannot be run to merge a spec: {error}; is it installed?") from error
    if 0 <= done.returncode < 128:
        return done.stdout, done.returncode > 0
    return ours, True  # not text: ours stays, for people to decide
