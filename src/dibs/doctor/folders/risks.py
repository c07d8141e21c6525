"""Which options of a mount make it another thing than what was measured with the default ones."""

import re
from typing import NamedTuple

LONG_SECONDS = 60.0  # the longest that an NFS client remembers anything by default
_LOCKS = "locks are this host's own: another does not see them"
_CACHE = "what another host has changed may not be seen for as long as a file is remembered"
_RISKS = {  # option: (why, is it about locks)
    "nocto": ("a file that is opened is not asked for anew, so another host's changes are missed", False),
    "cache=loose": (_CACHE, False),
    "cache=singleclient": (_CACHE, False),
    "nobrl": (_LOCKS, True),
    "nolock": (_LOCKS, True),
    "local_lock=flock": (_LOCKS, True),
    "local_lock=all": (_LOCKS, True),
}
_REMEMBERED = re.compile(r"(?:actimeo|ac(?:reg|dir)(?:min|max))=([0-9]+)")


class Risk(NamedTuple):
    option: str
    why: str
    locks: bool  # it concerns what rests on locks alone


def risks_of(options: str) -> tuple[Risk, ...]:
    """Of a mount by NFS or SMB."""
    found = []
    for option in options.split(","):
        remembered = _REMEMBERED.fullmatch(option)
        if remembered and float(remembered[1]) > LONG_SECONDS:
            late = f"another host's changes are seen up to {remembered[1]} s late: who lives could be taken for dead"
            found.append(Risk(option, late, locks=False))
        elif option in _RISKS:
            found.append(Risk(option, *_RISKS[option]))
    return tuple(found)
