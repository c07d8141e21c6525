"""What was written and what was seen, and whether the two agree.

lost       a write that returned is not in what is read at the end
invented   what is read is not made of writes
gap        a read that began after a write had returned shows less (where listings are never old)
back       a reader sees an older state after a newer one
double     a key is there twice
"""

from itertools import combinations

from tests.simulation.world import Violation

from dibs.index.merge import Rule
from dibs.index.usv import key_of, line_of

FEW = 7


class Write:
    def __init__(self, line: bytes) -> None:
        self.line = line
        self.done = False


class History:
    def __init__(self, rule: Rule, *, stale: bool) -> None:
        self.rule = rule
        self._stale = stale
        self._writes: dict[str, list[Write]] = {}
        self._seen: dict[tuple[str, str], bytes | None] = {}

    def begin(self, key: str, line: bytes) -> Write:
        write = Write(line)
        self._writes.setdefault(key, []).append(write)
        return write

    def returned(self, write: Write) -> None:
        write.done = True

    def known(self, key: str) -> bytes | None:
        """What the writes that returned so far come to."""
        return self._fold([write.line for write in self._writes.get(key, ()) if write.done])

    def saw(self, who: str, key: str, line: bytes | None, before: bytes | None) -> None:
        last = self._seen.get((who, key))
        self._at_least(line, last, "back", f"{who} saw {last!r} of {key}, and then {line!r}")
        if not self._stale:
            self._at_least(line, before, "gap", f"{who} sees {line!r} of {key}, though {before!r} was written before")
        self._seen[who, key] = line

    def saw_shard(self, who: str, keys: list[str], lines: list[bytes], before: dict[str, bytes | None]) -> None:
        found = [key_of(line) for line in lines]
        if len(set(found)) < len(found):
            raise Violation("double", f"{who} sees {sorted(found)}")
        by_key = dict(zip(found, lines, strict=True))
        for key in keys:
            self.saw(who, key, by_key.get(line_of([key])), before[key])

    def check_end(self, key: str, line: bytes | None) -> None:
        """In the end there are all the writes that returned, and any of the others."""
        writes = self._writes.get(key, [])
        sure = self._fold([write.line for write in writes if write.done])
        self._at_least(line, sure, "lost", f"{key} is {line!r} in the end, though {sure!r} was written")
        unsure = [write.line for write in writes if not write.done]
        if len(unsure) > FEW or line is None:
            return
        base = [] if sure is None else [sure]
        possible = {
            self._fold([*base, *chosen]) for count in range(len(unsure) + 1) for chosen in combinations(unsure, count)
        }
        if line not in possible:
            raise Violation("invented", f"{key} is {line!r} in the end, which nobody wrote; possible: {possible}")

    def _at_least(self, line: bytes | None, other: bytes | None, kind: str, text: str) -> None:
        if other is not None and (line is None or self.rule(other, line) != line):
            raise Violation(kind, text)

    def _fold(self, lines: list[bytes]) -> bytes | None:
        found: bytes | None = None
        for line in lines:
            found = line if found is None else self.rule(found, line)
        return found
