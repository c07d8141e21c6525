"""Sessions: one record for all leases of one worker, renewed by one write.

`workers/<session>.json` says who holds and when it last beat. A beat replaces the record whole, by
rename. One process writes a session's beats at any time: its owner, or the guard it was given to.

A beat counts only if it was on disk before the previous one ran out. So a session that somebody
saw stale can never come back, and taking its leases is safe however late it happens. Whether the latest
beat was in time only its writer knows; others rely on `sure`, the deadline that was certain before it.
"""

from dibs.clock import Clock
from dibs.errors import BadInput
from dibs.liveness import Holder, holder_from_record
from dibs.queues.files.fs import Fs
from dibs.queues.files.layout import Layout
from dibs.task import decode, encode
from dibs.values import replace


class Session:
    """A session that this process writes or, once guarded, only reads."""

    __slots__ = ("_clock", "_fs", "_layout", "deadline", "fresh_until", "guarded", "holder", "name", "ttl")

    def __init__(self, fs: Fs, layout: Layout, clock: Clock, holder: Holder, *, guarded: bool = False) -> None:
        self._fs = fs
        self._layout = layout
        self._clock = clock
        self.holder = holder
        self.name = holder.session
        self.ttl = holder.ttl
        self.guarded = guarded
        self.deadline = holder.beat + holder.ttl
        self.fresh_until = holder.beat + 0.1 * holder.ttl  # until then a claim needs no beat, nor a look

    def start(self) -> None:
        """Write the first beat; the session holds nothing before this, so nothing can make it late."""
        self.holder = replace(self.holder, sure=self.deadline)
        write_record(self._fs, self._layout, self.holder)

    def beat(self) -> bool:
        """False when it came too late: the session is over and everything under it is lost."""
        before = self._clock.boottime()
        if before >= self.deadline:
            return False
        self.holder = replace(self.holder, beat=before, sure=self.deadline)
        write_record(self._fs, self._layout, self.holder)
        if self._clock.boottime() >= self.deadline:
            return False
        self.deadline = before + self.ttl
        self.fresh_until = before + 0.1 * self.ttl
        return True

    def end(self) -> None:
        """Said by a guard: the holder and its children are dead, others may take what it held."""
        self.holder = replace(self.holder, ended=True)
        write_record(self._fs, self._layout, self.holder)

    def follow(self) -> None:
        """Learn from the record how long the guard has kept it."""
        record = read_record(self._fs, self._layout, self.name)
        if record is not None and not record.ended:
            self.deadline = max(self.deadline, record.sure)

    def ready(self, now: float) -> bool:
        """True when a lease claimed now has enough of its TTL ahead; beats, or looks what the guard did."""
        if not self.guarded:
            return self.beat()
        self.follow()
        self.fresh_until = min(now + 0.1 * self.ttl, self.deadline - 0.1 * self.ttl)
        return now < self.fresh_until

    def close(self) -> None:
        try:
            self._fs.unlink(self._layout.session(self.name))
        except OSError:
            pass  # somebody tidied it up already, or the folder is gone


def write_record(fs: Fs, layout: Layout, holder: Holder) -> None:
    scratch = layout.scratch(f"{holder.session}.beat")
    fs.write(scratch, encode(holder.to_record()))
    fs.rename(scratch, layout.session(holder.session))


def read_record(fs: Fs, layout: Layout, session: str) -> Holder | None:
    """None when there is none, or it is not one of ours."""
    try:
        holder = holder_from_record(decode(fs.read(layout.session(session))))
    except (FileNotFoundError, PermissionError, BadInput):
        return None
    return holder if holder.session == session else None
