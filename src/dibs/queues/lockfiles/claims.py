"""A lease record as it is shown."""

from dibs.clock import Clock
from dibs.host import Host
from dibs.lease import Record
from dibs.queues.views import Claim


def claim_of(task_id: str, record: Record, clock: Clock, host: Host) -> Claim:
    """Wall times for people. Only the age of a beat of this boot is known; one of another may be of this moment."""
    holder = record.holder
    ttl = holder.ttl if holder else 0.0
    since = holder.since if holder else 0.0
    beat = clock.wall()
    if holder is not None and holder.boot == host.boot:
        beat -= clock.boottime() - holder.beat
    return Claim(
        id=task_id,
        key=task_id,
        epoch=record.cell.epoch,
        worker=holder.worker if holder else record.cell.holder,
        host=holder.host if holder else "unknown",
        pid=holder.pid if holder else None,
        claimed_at=since,
        heartbeat_at=max(beat, since),
        expires_at=beat + ttl,
        ttl=ttl,
    )
