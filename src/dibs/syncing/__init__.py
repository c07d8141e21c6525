"""Offline work on purpose: a file queue here, joined with a queue that others share. `dibs sync`.

    report = sync(dibs.open("queues/here"), "s3://bucket/queues/scrape")

What is pushed here goes up. What is to be done comes down by reservation: leased there for this site, for hours,
renewed at every pass. What is finished here is told there. Who was away for longer than its reservation
is refused there, by epoch, like any other stale worker, and that is reported.
"""

from dibs.syncing.report import Conflict, Report
from dibs.syncing.syncer import Syncer, sync

__all__ = ["Conflict", "Report", "Syncer", "sync"]
