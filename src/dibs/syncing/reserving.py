"""Downwards: tasks come by reservation, a lease there for hours, and are then tasks here like any other.

    reserving     written down: a batch is asked for
    claim         there, for this site
    reserved      written down, with epochs
    admit         here, under the same ids
    here          written down

Whoever dies after the claim finds by the first line that leases of this site may be about, and looks for them.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from dibs.errors import LeaseLost, TaskNotFound
from dibs.moving import Refusal
from dibs.queues.held import Lease
from dibs.queues.parcel import Outcome, Parcel
from dibs.states import Cell, State
from dibs.syncing.journal import HERE, LEAVING, RESERVED, Entry
from dibs.syncing.sides import Sides

PARTS = 6  # a reservation is renewed when a sixth of it is over, or an hour
RENEW_SECONDS = 3600.0
BATCH = 500
AGAIN_SECONDS = 60.0


class Reserving:
    def __init__(self, sides: Sides, hold: float, filters: dict[str, Any]) -> None:
        self._sides = sides
        self._hold = hold
        self._filters = filters
        self._lapsed: set[str] = set()

    def recover(self) -> None:
        """Go on with what an earlier run had begun."""
        sides = self._sides
        sides.gate.dismiss(list(sides.gate.departed(sides.back)))
        for entry in [entry for entry in sides.journal.entries.values() if entry.state == LEAVING]:
            sides.withdraw(entry)  # if it was finished meanwhile it will be told
        if sides.journal.reserving:
            mine = [claim for claim in sides.remote.claimed() if claim.host == sides.remote.host.name]
            found = [Entry(claim.id, claim.epoch, RESERVED) for claim in mine if claim.id not in sides.journal.entries]
            sides.journal.note(found, reserving=False)
        held = []
        for entry in [entry for entry in sides.journal.entries.values() if entry.state == RESERVED]:
            try:
                held.append(sides.lease(entry))
            except (LeaseLost, TaskNotFound):
                if sides.gate.find(entry.id) is None:
                    sides.forget([entry])
        self._bring(held)

    def renew(self) -> None:
        """What cannot be renewed is lost, unless `reserve` gets it back."""
        sides = self._sides
        now = sides.remote.store_time()
        after = min(self._hold / PARTS, RENEW_SECONDS)
        due = [entry for entry in sides.journal.entries.values() if now - entry.renewed >= after or entry.renewed > now]
        kept = [entry for entry, held in zip(due, sides.each(self._renewed, due), strict=True) if held]
        sides.journal.note(entry._replace(renewed=now) for entry in kept)
        sides.report.renewed += len(kept)

    def _renewed(self, entry: Entry) -> bool:
        try:
            self._sides.lease(entry).renew()
        except (LeaseLost, TaskNotFound):
            self._lapsed.add(entry.id)
            return False
        return True

    def reserve(self, most: int) -> None:
        """So many at most are reserved here and unfinished. What was lost and not won back leaves."""
        sides = self._sides
        while (wanted := min(most - len(sides.journal.entries.keys() - self._lapsed), BATCH)) > 0:
            now = sides.remote.store_time()
            sides.journal.note((), reserving=True)
            leases = sides.remote.claim_many(wanted, ttl=self._hold, **self._filters)
            sides.journal.note((Entry(lease.id, lease.epoch, RESERVED, now) for lease in leases), reserving=False)
            sides.leases.update((lease.id, lease) for lease in leases)
            self._lapsed -= {lease.id for lease in leases}
            self._bring(leases)
            if len(leases) < wanted:
                break
        for task_id in self._lapsed:
            entry = sides.journal.entries.get(task_id)
            if entry is not None and sides.withdraw(entry) is None:
                sides.report.withdrawn += 1
        self._lapsed = set()

    def give_back(self) -> None:
        """All that nobody works on here, at once."""
        sides = self._sides
        for entry in list(sides.journal.entries.values()):
            parcel = sides.gate.find(entry.id)
            waiting = parcel is not None and parcel.state in (State.READY, State.SCHEDULED, State.BLOCKED)
            if waiting and sides.withdraw(entry) is None:
                sides.report.given_back += 1

    def _bring(self, leases: Sequence[Lease]) -> None:
        sides = self._sides
        parcels = [_parcel(lease) for lease in leases]
        objections = sides.gate.objections(parcels) if parcels else {}
        welcome = [parcel for parcel in parcels if parcel.id not in objections]
        outcomes = sides.gate.admit(welcome) if welcome else {}
        brought = []
        for lease in leases:
            entry = sides.journal.entries[lease.id]
            outcome = outcomes.get(lease.id)
            if outcome in (Outcome.ADDED, Outcome.THERE):
                brought.append(entry._replace(state=HERE))
                sides.report.brought += outcome is Outcome.ADDED
                if outcome is Outcome.THERE:
                    self._wake(lease.id)
            else:
                reason = objections.get(lease.id, "its key was taken here meanwhile")
                sides.report.refusals.append(Refusal(lease.id, lease.key, f"not brought down: {reason}"))
                with suppress(LeaseLost):
                    lease.release(delay=AGAIN_SECONDS)
                sides.withdraw(entry)
        sides.journal.note(brought)

    def _wake(self, task_id: str) -> None:
        """It was here before, and was told as failed or cancelled by a run that died: now it is to be done again."""
        found = self._sides.gate.find(task_id)
        if found is not None and found.state in (State.FAILED, State.CANCELLED):
            self._sides.local.retry(task_id)


def _parcel(lease: Lease) -> Parcel:
    task = lease.task
    return Parcel(task=task.standing(Cell(State.READY, lease.epoch, task.attempts, task.deaths)))
