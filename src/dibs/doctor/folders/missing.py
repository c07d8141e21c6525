"""Is the folder there at all? A misspelt path, or a share that is not mounted, is examined as whatever lies beneath."""

import os
from collections.abc import Iterator

from dibs.doctor.finding import Finding, Level
from dibs.doctor.folders.mounts import existing
from dibs.errors import BadInput


def check(named: str) -> Iterator[Finding]:
    """BadInput where it cannot be a folder."""
    above = existing(named)
    if above == named:
        return
    first = os.path.join(above, os.path.relpath(named, above).split("/")[0])
    if os.path.lexists(first):
        raise BadInput(f"{first} is no folder; name the folder of the queue, or one above it")
    if above == os.path.dirname(named):
        happened = f"{named} is not there yet: the folder above was examined"
        yield Finding(check="place", tried="looked up", happened=happened, level=Level.NOTE)
    else:
        happened = f"{first} is not there: {above} was examined instead"
        remedy = "check the path, and that what belongs there is mounted, if it is no new folder"
        yield Finding(check="place", tried="looked up", happened=happened, level=Level.WARNING, remedy=remedy)
