"""Cancel, retry, prioritise, pause, resume, purge: what nobody's lease is needed for."""

from dibs import states
from dibs.clock import Clock
from dibs.errors import Refused
from dibs.queues.postgres import texts
from dibs.queues.postgres.database import Database
from dibs.queues.postgres.looks import Looks
from dibs.queues.postgres.refusals import KeyTaken
from dibs.queues.postgres.rows import Known
from dibs.queues.postgres.steps import Move, Steps
from dibs.queues.views import Event
from dibs.states import Cell, State
from dibs.task import Task, decode, encode, with_priority
from dibs.values import replace

PAGE = 1000


class Steering:
    def __init__(self, database: Database, looks: Looks, steps: Steps, clock: Clock) -> None:
        self._database = database
        self._looks = looks
        self._steps = steps
        self._clock = clock

    def cancel(self, ref: str) -> Task:
        while True:
            known = self._looks.known(ref)
            after = states.cancel(known.cell)
            if self._steps.take(Move(known.id, known.cell, after, self._cancelled(known))):
                self._database.get("stop_waiting", id=known.id)
                return known.task.standing(after)

    def _cancelled(self, known: Known) -> Event | None:
        if known.cell.state is not State.CLAIMED:
            return None
        at = round(self._clock.wall(), 3)
        return Event(epoch=known.cell.epoch, what="cancelled", worker=known.cell.holder, at=at)

    def retry(self, ref: str) -> Task:
        while True:
            known = self._looks.known(ref)
            after, task = states.retry(known.cell), known.task
            try:
                if self._steps.take(Move(known.id, known.cell, after, keyed=task.key is not None)):
                    return task.standing(after)
            except KeyTaken:
                other = self._looks.known(task.key or "").id
                if other != known.id:
                    raise Refused(
                        f"cannot retry task {known.id}: its key {task.key!r} is taken by live task {other}"
                    ) from None

    def prioritise(self, ref: str, priority: int) -> Task:
        while True:
            known = self._looks.known(ref)
            cell, record = states.prioritise(known.cell), decode(known.record.encode())
            task = known.task
            if task.priority == priority:
                return task
            if self._database.get(
                "prioritise",
                id=known.id,
                priority=priority,
                record=encode(with_priority(record, priority)).decode().rstrip("\n"),
                seen_state=str(cell.state),
                seen_epoch=cell.epoch,
                seen_record=known.record,
                notify=cell.state is State.READY,  # who takes only low priorities may want it now
            ):
                return replace(task, priority=priority)

    def bury(self, task_id: str, cell: Cell) -> None:
        """A held task whose record cannot be read any more: for a person to look at."""
        error = "its record is damaged"
        event = Event(epoch=cell.epoch, what="failed", worker=cell.holder, at=round(self._clock.wall(), 3), error=error)
        self._steps.take(Move(task_id, cell, states.fail(cell, 0), event))

    def pause(self, reason: str) -> None:
        self._database.get("pause", reason=texts.put(reason))

    def resume(self) -> None:
        self._database.get("resume")

    def paused(self) -> str | None:
        rows = self._database.get("paused")
        reason = rows[0][0] if rows else None
        return None if reason is None else texts.taken_out(reason)

    def purge(self, state: str, older_than: float) -> int:
        if state not in states.TERMINAL:
            raise Refused(f"cannot purge tasks that are {state}; only completed, failed or cancelled ones")
        removed = 0
        while True:
            rows = self._database.get(
                "purge", {"limit": str(PAGE), "state": f"'{State(state)}'"}, age=float(older_than), all=older_than <= 0
            )
            removed += len(rows)
            if len(rows) < PAGE:
                return removed
