"""Dependencies: `after`. A blocked task has a row in `waits` for each thing it waits for, by id or key.

Whoever pushes such a task marks what it waits for, and then looks whether that is completed; whoever completes
something that is marked looks who waited. Each locks what is blocked before it judges it, in the order of ids, so of
two that complete at the same time the later sees both. What slips through all the same, because somebody died in
between, is found by the upkeep.
"""

from dibs.queues.postgres import texts
from dibs.queues.postgres.database import Database
from dibs.queues.postgres.driver import Connection
from dibs.task import Task

FEW = 200
_FIRST = "0" * 32


class Waits:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._after = _FIRST

    def begin(self, connection: Connection, tasks: list[Task]) -> dict[str, str]:
        """Tasks just added as blocked: the state of those that need not wait."""
        if not tasks:
            return {}
        pointers = [(*texts.reference(ref), task.id) for task in tasks for ref in task.after]
        refs, kinds, waiting = (list(column) for column in zip(*pointers, strict=True))
        ask = self._database.ask
        ask(connection, "wait", ref=refs, is_id=kinds, task=waiting)
        ids = sorted({ref for ref, is_id, _ in pointers if is_id})
        keys = sorted({ref for ref, is_id, _ in pointers if not is_id})
        ask(connection, "await", id=ids, key=keys)
        return self._unblock(connection, [task.id for task in tasks], notify=False)

    def free(self, connection: Connection, completed: list[str]) -> None:
        """Within a transaction, or the one that completed them: make ready what waited for nothing else."""
        waiting = self._database.ask(connection, "waiting", ref=completed, id=completed)
        if waiting:
            self._unblock(connection, [row[0].hex for row in waiting], notify=True)

    def look_again(self, connection: Connection) -> bool:
        """Some of what is blocked, going round."""
        with self._database.transaction(connection):
            rows = self._database.ask(connection, "blocked", {"limit": str(FEW)}, after=self._after)
            self._after = rows[-1][0].hex if len(rows) == FEW else _FIRST
            return bool(rows) and bool(self._unblock(connection, [row[0].hex for row in rows], notify=False))

    def standing(self, task: Task) -> tuple[tuple[str, str], ...]:
        """Each thing the task is to run after, with its state, or "unknown"."""
        if not task.after:
            return ()
        refs, kinds = (list(column) for column in zip(*map(texts.reference, task.after), strict=True))
        rows = self._database.get("standing", ref=refs, is_id=kinds)
        return tuple((ref, row[1] or "unknown") for ref, row in zip(task.after, rows, strict=True))

    def _unblock(self, connection: Connection, ids: list[str], notify: bool) -> dict[str, str]:
        rows = self._database.ask(connection, "unblock", id=ids, notify=notify)
        return {row[0].hex: row[1] for row in rows}
