"""`meta`: the format version and the settings fixed at creation; and what the server must be for a queue at all."""

from dibs import __version__
from dibs.clock import Clock, iso
from dibs.errors import FormatError
from dibs.queues.redis.server import Server

FORMAT = 2
RETENTION_SECONDS = 7 * 86400.0


def open_root(server: Server, shown: str, clock: Clock, *, create: bool) -> None:
    """FormatError when the server is too old, or there is no queue, or one of another format."""
    address = server.address
    info = server.check()
    if address.warn:
        from dibs.queues.redis.durability import warn

        warn(address, info)
    keep = RETENTION_SECONDS if address.retention is None else address.retention
    found = server.ask("open", FORMAT, keep, iso(clock.wall()), f"dibs {__version__}", int(create))
    if not found:
        raise FormatError(f"no queue at {shown}; `dibs push {shown} …` creates one")
    form = (found[0] or b"").decode()
    if not form.isdigit() or int(form) != FORMAT:
        older = form.isdigit() and int(form) < FORMAT
        remedy = "move its tasks with the dibs that made it" if older else "upgrade dibs"
        raise FormatError(f"queue {shown} has format {form}, this dibs {__version__} knows format {FORMAT}; {remedy}")
