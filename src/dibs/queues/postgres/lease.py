"""A lease on a task in PostgreSQL: as any other, and it can be completed within the caller's own transaction."""

from typing import TYPE_CHECKING, Any

from dibs.queues.held import Lease
from dibs.states import Cell, State

if TYPE_CHECKING:
    from dibs.queues.postgres.driver import Connection
    from dibs.queues.postgres.queue import PostgresQueue


class Held:
    """What this process knows of a lease besides what everybody does."""

    __slots__ = ("boot", "kept", "session", "unsure", "until")

    def __init__(self, session: str, boot: str, until: float | None) -> None:
        self.session = session
        self.boot = boot  # of the process that holds it: its deadline means nothing on another
        self.until = until  # boottime past which it is not renewed
        self.kept = False  # somebody else renews it: only follow
        self.unsure = False  # a step's answer was lost for good: it may have been done


class PostgresLease(Lease):
    __slots__ = ()
    queue: "PostgresQueue"

    def complete(self, result: Any = None, *, connection: "Connection | None" = None) -> None:
        """Done, once and for all. With `connection` it is a part of the caller's transaction: done when that commits.
        If that is rolled back the task is still held, and runs out unless it is completed by another lease object."""
        if self.state != "held":
            self._step("complete")
        self.queue.complete(self, result, connection=connection)
        self.state = "completed"


def cell_of(lease: Lease) -> Cell:
    """The cell that the lease holds, without making its Task where nobody asked for that."""
    session: str = lease.token.session
    held = lease._task
    if type(held) is tuple:
        cell: Cell = held[1]
        return cell if cell.holder == session else cell._replace(holder=session)
    task = lease.task
    return Cell(State.CLAIMED, lease.epoch, task.attempts, task.deaths, session)
