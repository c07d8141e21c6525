"""Which blocked tasks can go, and what has to come along for them.

A task that waits for others goes when none of those is left behind: else nobody could tell it, where it went, that
they completed. So what it waits for goes first, however long the chain. What has completed is copied along, to be known
there too; what was cancelled goes with it. A task that nobody knows is unknown there as it is here. What waits for a
task that is claimed, or was refused, is held back.
"""

from dibs.errors import BadInput
from dibs.queues.gate import Gate
from dibs.queues.parcel import Parcel
from dibs.states import State


class Waiting:
    """Of one moment: what is found out is not asked twice."""

    def __init__(self, source: Gate, target: Gate | None, going: frozenset[State] = frozenset()) -> None:
        """`going`: states that count as gone. Of a dry run, all that would be sent. Blocked, once nothing else can go:
        those that are left wait for each other in a circle, and nothing can make them ready meanwhile."""
        self._source = source
        self._target = target
        self._going = going
        self._known: dict[str, bool] = {}
        self.along: dict[str, Parcel] = {}

    def free(self, parcel: Parcel) -> bool:
        return all([self._settled(ref) for ref in parcel.task.after])

    def _settled(self, ref: str) -> bool:
        if ref not in self._known:
            self._known[ref] = True  # for whoever comes back to it in a circle
            self._known[ref] = self._asked(ref)
        return self._known[ref]

    def _asked(self, ref: str) -> bool:
        try:
            found = self._source.find(ref)
        except BadInput:
            return False  # damaged: it stays
        if found is None:
            return True
        if found.state in (State.COMPLETED, State.CANCELLED):
            self.along[found.id] = found
        if found.state is State.COMPLETED or (self._target and not self._target.missing([found.id])):
            return True
        if found.state not in self._going or (self._target and self._target.objections([found])):
            return False
        return found.state is not State.BLOCKED or self.free(found)
