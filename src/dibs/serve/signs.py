"""Signs of life of a worker whose session dropped: it may have gone to another daemon, which this one cannot see.

What both see is the queue. A lease that is renewed after the drop has a holder that lives, whichever way the renewal
came; so before anything is given back, what is held is looked at twice. A worker renews what it holds as soon as it has
a session again.
"""

from typing import NamedTuple

from dibs.errors import DibsError
from dibs.queues.behalf import Name
from dibs.queues.leased import LeasedQueue
from dibs.serve.desk import Desk

MOST_LOOKED_AT = 16  # leases of one session: who lives renews all
_SAME_SECONDS = 0.1  # two readings of one beat may differ by so much


class Sign(NamedTuple):
    holder: tuple[str, str]  # worker, host
    beat: float


Seen = dict[Name, Sign]


class Signs:
    """Of one queue. It may block."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def seen(self, session: str) -> Seen:
        """The first look at what it holds."""
        held = self._desk.ties.of(session)[:MOST_LOOKED_AT]
        return {name: sign for name in held if (sign := self._look(name)) is not None}

    def renewed(self, seen: Seen) -> bool:
        """The second look: whether somebody has renewed what it held."""
        queue = self._desk.queue
        for name, before in seen.items():
            now = self._look(name)
            if now is None:
                continue
            if now.holder != before.holder or abs(now.beat - before.beat) > _SAME_SECONDS:
                return True
            if isinstance(queue, LeasedQueue) and now.holder[1] != queue.host.name:
                return True  # its record names the host that renewed it last
        return False

    def _look(self, name: Name) -> Sign | None:
        """None when it is over, or nobody can tell."""
        try:
            claim = self._desk.queue.detail(name[0]).claim
        except DibsError:
            return None
        if claim is None or claim.epoch != name[1]:
            return None
        return Sign((claim.worker, claim.host), claim.heartbeat_at)
