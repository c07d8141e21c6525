"""Upwards: what was finished here is told there, under the epoch of its reservation.

Told twice is told once: a task that stands there as we would have it, at our epoch, was told by us. What stands
there at any other epoch is somebody else's: then ours came too late, and is kept as a conflict.
"""

from itertools import islice
from typing import Any

from dibs.errors import BadInput, LeaseLost, Refused, TaskNotFound
from dibs.moving import Refusal
from dibs.moving.mover import Mover
from dibs.queues.parcel import Outcome, Parcel
from dibs.states import State
from dibs.syncing.journal import GONE, HERE, LEAVING, RESERVED, TOLD, Entry
from dibs.syncing.report import Conflict
from dibs.syncing.sides import Sides

BATCH = 500
OVER = (State.COMPLETED, State.FAILED, State.CANCELLED)


class Telling:
    def __init__(self, sides: Sides) -> None:
        self._sides = sides

    # What was reserved

    def finished(self) -> None:
        sides = self._sides
        over: list[tuple[Entry, Parcel]] = []
        vanished: list[Entry] = []
        for entry in list(sides.journal.entries.values()):
            try:
                parcel = sides.gate.find(entry.id)
            except BadInput as error:
                sides.report.refusals.append(Refusal(entry.id, None, f"it cannot be read here: {error}"))
                continue
            if parcel is None:
                if entry.state == HERE:
                    vanished.append(entry)
            elif parcel.state in OVER and (entry.state == HERE or parcel.state is State.COMPLETED):
                over.append((entry, parcel))
            elif entry.state == RESERVED:
                sides.journal.note([entry._replace(state=HERE)])
        sides.report.vanished += len(vanished)
        sides.forget(vanished)
        self._note(over, sides.each(self._told, over))

    def _told(self, one: tuple[Entry, Parcel]) -> Conflict | None:
        """Several at once: nothing but the shared queue is changed here."""
        try:
            self._step(*one)
        except (LeaseLost, TaskNotFound, Refused):
            return self._settled(*one)
        return None

    def _note(self, over: list[tuple[Entry, Parcel]], found: list[Conflict | None]) -> None:
        sides = self._sides
        leaving: list[tuple[Entry, Parcel]] = []
        told: list[Entry] = []
        again: list[Entry] = []
        for (entry, parcel), conflict in zip(over, found, strict=True):
            if conflict is None:
                name = str(parcel.state)
                setattr(sides.report, name, getattr(sides.report, name) + 1)
            if parcel.state is not State.COMPLETED:
                leaving.append((entry, parcel))
            else:
                (again if conflict is not None and conflict.there == State.READY else told).append(entry)
        conflicts = [conflict for conflict in found if conflict is not None]
        sides.report.conflicts += conflicts
        sides.journal.remember_conflicts([conflict.to_json() for conflict in conflicts])
        sides.forget(told, TOLD)
        sides.forget(again)
        # The others are there now, to be retried or not; here they would stand in the way of their coming down again.
        sides.journal.note(entry._replace(state=LEAVING) for entry, _ in leaving)
        if leaving:
            sides.gate.dismiss(sides.gate.depart([parcel for _, parcel in leaving], sides.back))
        sides.forget(entry for entry, _ in leaving)

    def _step(self, entry: Entry, parcel: Parcel) -> None:
        sides = self._sides
        if parcel.state is State.COMPLETED:
            sides.lease(entry).complete(self._result(parcel))
        elif parcel.state is State.FAILED:
            detail = sides.local.detail(entry.id)
            sides.lease(entry).fail(detail.error or "it failed at another site", retry=False)
        else:
            sides.remote.cancel(entry.id)

    def _settled(self, entry: Entry, parcel: Parcel) -> Conflict | None:
        """None when it is as we would have it. A failure that came too late is no conflict: somebody else tries."""
        sides = self._sides
        try:
            detail = sides.remote.detail(entry.id)
        except TaskNotFound:
            detail = None
        if detail is not None and (detail.task.state, detail.task.epoch) == (parcel.state, entry.epoch):
            return None
        if parcel.state is not State.COMPLETED:
            return None
        by = ""
        if detail is not None:
            by = detail.claim.worker if detail.claim else detail.history[-1].worker if detail.history else ""
        return Conflict(
            id=entry.id,
            key=parcel.task.key,
            here=str(parcel.state),
            epoch=entry.epoch,
            there="gone" if detail is None else str(detail.task.state),
            there_epoch=0 if detail is None else detail.task.epoch,
            by=by,
            result=self._result(parcel),
        )

    def _result(self, parcel: Parcel) -> Any:
        return self._sides.local.detail(parcel.id).result

    # What was pushed here

    def born_here(self) -> None:
        """Send up what waits here and is nobody's reservation."""
        sides = self._sides
        elsewhere = sides.journal.elsewhere()

        def ours(parcel: Parcel) -> bool:
            return parcel.id not in sides.journal.entries and parcel.id not in elsewhere

        moved = Mover(sides.local, sides.remote, only=ours).run()
        sides.report.sent += moved.total - moved.there
        sides.report.refusals += moved.refusals

    def done_here(self) -> None:
        """Copy up what was pushed and completed here before it could go up."""
        sides = self._sides
        journal = sides.journal
        completed = set(sides.gate.ids(State.COMPLETED))
        untold = iter(completed - journal.told - journal.entries.keys() - journal.elsewhere())
        while batch := list(islice(untold, BATCH)):
            found = [parcel for parcel in map(sides.gate.find, batch) if parcel and parcel.state is State.COMPLETED]
            outcomes = sides.far_gate.admit(found)
            sides.report.done_here += sum(outcome is Outcome.ADDED for outcome in outcomes.values())
            journal.note(Entry(task_id, 0, TOLD) for task_id in outcomes)
        journal.note(Entry(task_id, 0, GONE) for task_id in journal.told - completed)  # purged: nothing to remember
