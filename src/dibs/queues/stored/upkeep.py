"""What every claimer does now and then, so that nobody else is needed: give back what dead workers held,
make due tasks ready, re-check blocked ones, remove what is past its retention.

A held task's cell is read once and then judged by what was read; only when that says its holder is gone is it read
again. So watching over many leases costs about one read per lease and TTL. First leases have no marker but the
seed, so they are watched by whoever met them there.
"""

from itertools import islice

from dibs.clock import Clock
from dibs.errors import BadInput
from dibs.lease import Leases
from dibs.liveness import Verdict, Watch
from dibs.queues.stored.body import Known
from dibs.queues.stored.cells import Cells
from dibs.queues.stored.layout import Marker, hour_of, parse_marker
from dibs.queues.stored.steps import Steps
from dibs.states import State

TIDY_EVERY = 60.0
PAGE = 1000
FEW = 200


class Upkeep:
    def __init__(
        self,
        cells: Cells,
        steps: Steps,
        leases: Leases,
        watch: Watch,
        clock: Clock,
        *,
        every_seconds: float,
        retention: float,
    ) -> None:
        self._cells = cells
        self._store = cells.store
        self._steps = steps
        self._leases = leases
        self._watch = watch
        self._clock = clock
        self._blocked_every = every_seconds * 5
        self._retention = retention
        self._held: dict[str, Known] = {}
        self._seeds: dict[str, tuple[Marker, Known | None]] = {}
        self._blocked_from = ""
        self._next_blocked = 0.0
        self._next_tidy = clock.boottime() + TIDY_EVERY

    def run(self) -> bool:
        """True when something may have become ready."""
        changed = self.recover() | self.promote_due()
        now = self._clock.boottime()
        if now >= self._next_blocked:
            self._next_blocked = now + self._blocked_every
            changed |= self.recheck_blocked()
        if now >= self._next_tidy:
            self._next_tidy = now + TIDY_EVERY
            self.tidy()
        return changed

    def watch(self, marker: Marker, known: Known | None) -> None:
        """The seed was met and is held, if it is there at all."""
        if known is not None and known.cell.state is State.CLAIMED:
            self._seeds[marker.key] = (marker, known)

    def shun(self, marker: Marker) -> None:
        self._seeds[marker.key] = (marker, None)

    def watches(self, marker: Marker) -> bool:
        return marker.key in self._seeds

    def ended(self, key: str) -> None:
        self._seeds.pop(key, None)

    def recover(self) -> bool:
        """Give back what workers held that are gone."""
        markers = [marker for marker in map(parse_marker, self._store.list("claimed/")) if marker]
        known = {marker.key: self._held.get(marker.key) or self._cells.settle(marker) for marker in markers}
        for marker, seeded in list(self._seeds.values()):
            markers.append(marker)
            known[marker.key] = seeded
        self._held = {key: held for key, held in known.items() if held is not None}
        boots = self._boots()
        changed = False
        for marker in markers:
            held = self._held.get(marker.key)
            if held is not None and self._verdict(held, boots) is not Verdict.ALIVE:
                changed |= self._recover(marker, boots)
        self._watch.forget_others(
            [holder.session for held in self._held.values() if (holder := held.seen.record.holder)]
        )
        return changed

    def recover_seed(self, marker: Marker) -> bool:
        """Give back the seed that was met, if whoever holds it is gone."""
        _, held = self._seeds.get(marker.key, (marker, None))
        if held is None or self._verdict(held, boots := self._boots()) is Verdict.ALIVE:
            return False
        return self._recover(marker, boots)

    def _boots(self) -> set[tuple[str, str]]:
        holders = [held.seen.record.holder for held in list(self._held.values())]
        return {(holder.machine, holder.boot) for holder in holders if holder}

    def _recover(self, marker: Marker, boots: set[tuple[str, str]]) -> bool:
        held = self._cells.settle(marker)
        if held is None or held.cell.state is not State.CLAIMED:
            self._held.pop(marker.key, None)
            self._seeds.pop(marker.key, None)
            return False
        self._held[marker.key] = held
        if marker.seed:
            self.watch(marker, held)
        verdict = self._verdict(held, boots)
        if verdict is Verdict.ALIVE or not self._steps.expire(held, verdict):
            return False
        self._held.pop(marker.key, None)
        self._seeds.pop(marker.key, None)
        return True

    def _verdict(self, held: Known, boots: set[tuple[str, str]]) -> Verdict:
        return self._leases.judge(held.task.id, held.seen, boots)

    def promote_due(self) -> bool:
        now = self._store.now()
        last = f"scheduled/{hour_of(now)}0"  # sorts behind every name of this hour
        changed = False
        for key in islice(self._store.list("scheduled/"), PAGE):
            if key > last:
                break
            marker = parse_marker(key)
            if marker is not None and marker.due <= now:
                known = self._cells.settle(marker)
                changed |= known is not None and self._steps.promote(known)
        return changed

    def recheck_blocked(self) -> bool:
        """Some of those that wait for others, going round."""
        changed = False
        keys = list(islice(self._store.list("blocked/", self._blocked_from), FEW))
        self._blocked_from = keys[-1] if len(keys) == FEW else ""
        for key in keys:
            marker = parse_marker(key)
            if marker is None or self._cells.settle(marker) is None:
                continue
            try:
                changed |= self._steps.unblock(marker.id)
            except BadInput:
                continue  # damaged: for a person to look at
        return changed

    def tidy(self) -> None:
        if self._retention > 0:
            for state in (State.COMPLETED, State.CANCELLED):
                self._steps.purge(state, self._store.now() - self._retention, limit=FEW)
