"""What this process holds through a daemon: renewed at once when its session is made again, since that may be with
another daemon, and the first must see that the worker lives.

Safe for threads without a lock; a forked child has none of it.
"""

import os

from dibs.queues.held import Lease

MANY = 1000


class InHand:
    def __init__(self) -> None:
        self._pid = os.getpid()
        self._leases: dict[tuple[str, int], Lease] = {}

    def add(self, leases: list[Lease], now: float) -> None:
        if len(self._leases) > MANY:
            self._leases = {(lease.id, lease.epoch): lease for lease in self.held(now)}
        if self._pid != os.getpid():
            self._pid, self._leases = os.getpid(), {}
        for lease in leases:
            self._leases[lease.id, lease.epoch] = lease

    def drop(self, lease: Lease) -> None:
        self._leases.pop((lease.id, lease.epoch), None)

    def held(self, now: float) -> list[Lease]:
        """Those that may still be ours by this host's clock."""
        if self._pid != os.getpid():
            return []
        return [
            lease
            for lease in list(self._leases.values())
            if lease.state == "held" and (lease.token.kept or now < lease.deadline)
        ]
