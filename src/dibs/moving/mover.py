"""Move and copy: batch by batch, each step harmless when repeated.

    depart    source: out of circulation, marked with where it goes        (durable)
    admit     target: in, as it stood; the same id twice is one task       (durable)
    look      target: is each really there?
    dismiss   source: deleted

Killed between any two, the next run goes on with what is marked. A task is never ready in both queues, and never in
neither without a mark. To copy is to admit and look only.

Nothing is ever put back into the source, so any number of movers may work at once. Whom the target would refuse (its
key is taken there) is not sent; if that happens while it is on its way, the target keeps it as failed. Blocked
tasks go last, see `waiting`. A mover that slept for long over a batch reads it again: by then the tasks may
be over in the target, and even purged.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from dibs.errors import BadInput, StorageError
from dibs.moving.report import Refusal, Report
from dibs.moving.waiting import Waiting
from dibs.queues.gate import Gate
from dibs.queues.parcel import Outcome, Parcel
from dibs.queues.queue import Queue
from dibs.states import State

BATCH = 500
SWEEPS = 3
SLEPT_SECONDS = 600.0
LONGEST_PAUSE = 2.0
ORDER = (State.FAILED, State.SCHEDULED, State.READY)  # and then what is blocked
Tell = Callable[[Report], None]


def move(
    source: Queue, target: Queue | None, *, follow: bool = False, dry_run: bool = False, tell: Tell | None = None
) -> Report:
    """Move every waiting, scheduled, blocked and failed task. `follow`: claimed ones too, when their leases end.
    A dry run changes nothing; its target may be None, for one that is not there yet."""
    return Mover(source, target, follow=follow, dry_run=dry_run, tell=tell).run()


def copy(
    source: Queue, target: Queue | None, *, follow: bool = False, dry_run: bool = False, tell: Tell | None = None
) -> Report:
    """The same without taking anything out of the source. Copies have the same ids: a second run adds what is new."""
    return Mover(source, target, follow=follow, dry_run=dry_run, tell=tell, copying=True).run()


class Mover:
    def __init__(
        self,
        source: Queue,
        target: Queue | None,
        *,
        follow: bool = False,
        dry_run: bool = False,
        copying: bool = False,
        tell: Tell | None = None,
        only: Callable[[Parcel], bool] | None = None,
    ) -> None:
        """`only`: of what waits in the source, that for which this is true."""
        self._only = only
        self._queue = source
        self._source = source.gate()
        self._target = target.gate() if target is not None else None
        if target is None and not dry_run:
            raise BadInput("there is no target; only a dry run needs none")
        address = self._target.address if self._target else ""
        if self._target and self._target.identity == self._source.identity:
            raise BadInput(f"source and target are the same queue, {address}; name two")
        self._follow = follow and not dry_run
        self._tell = tell or (lambda report: None)
        self._copied: set[str] = set()
        self._refused: set[str] = set()
        self.report = Report(source=self._source.address, target=address, copy=copying, dry_run=dry_run)

    def run(self) -> Report:
        if self._target is None or self.report.dry_run:
            self._sweep_dry()
        elif self.report.copy:
            self._source.tend()
            self._repeat(self._target, self._sweep)
        else:
            self._bring_back(self._target)
            self._source.tend()
            self._repeat(self._target, lambda target: self._resume(target) + self._sweep(target) + self._resume(target))
        self._look_back()
        return self.report

    def _repeat(self, target: Gate, sweep: Callable[[Gate], int]) -> None:
        """Until nothing more can go; to follow is to wait for what is claimed, and for what is pushed meanwhile."""
        clock, pause, sweeps = self._queue.clock, 0.05, 0
        while True:
            sent = sweep(target)
            sweeps += 1
            if sent:
                pause = 0.05
            if self._follow:
                if not sent:
                    if not any(True for _ in self._queue.tasks(State.CLAIMED, limit=1)):
                        return
                    clock.sleep(pause)
                    pause = min(pause * 1.5, LONGEST_PAUSE)
                self._source.tend()
            elif not sent or sweeps >= SWEEPS:
                return

    # Move

    def _resume(self, target: Gate) -> int:
        """Go on with what is marked, by whomever."""
        sent = 0
        for batch, since in self._batches(self._source.departed(target.address)):
            self._free(target, [parcel for parcel in batch if parcel.state is State.BLOCKED])
            sent += self._deliver(target, batch, since)
        return sent

    def _sweep(self, target: Gate) -> int:
        sent = 0
        for state in ORDER:
            for batch, since in self._batches(self._export(state)):
                sent += self._send(target, self._welcome(target, batch), since)
        return sent + self._sweep_blocked(target)

    def _export(self, state: State) -> Iterator[Parcel]:
        return filter(self._only, self._source.export(state)) if self._only else self._source.export(state)

    def _sweep_blocked(self, target: Gate) -> int:
        sent = 0
        for going in (frozenset[State](), frozenset({State.BLOCKED})):
            some = 1
            while some:
                some = self.report.held_back = 0
                for batch, since in self._batches(self._export(State.BLOCKED)):
                    welcome = self._welcome(target, batch)
                    free = self._send_in_turn(target, welcome, since, going)
                    self.report.held_back += len(welcome) - free
                    some += free if not self.report.copy else 0
                sent += some
        return sent

    def _send_in_turn(self, target: Gate, parcels: list[Parcel], since: float, going: frozenset[State]) -> int:
        """What others wait for departs before they do. How many were free to go."""
        left, gone = parcels, list[Parcel]()
        while left:
            free = self._free(target, left, going)
            if not free:
                break
            ids = {parcel.id for parcel in free}
            left = [parcel for parcel in left if parcel.id not in ids]
            if self.report.copy:
                self._copy(target, free)
            else:
                gone += self._source.depart(free, target.address)
        self._deliver(target, gone, since)
        return len(parcels) - len(left)

    def _free(self, target: Gate, blocked: list[Parcel], going: frozenset[State] = frozenset()) -> list[Parcel]:
        """Those that wait for nothing that stays; what they wait for and is over has been sent along."""
        for _ in range(2):  # with what was cancelled out of the way, more may be free
            waiting = Waiting(self._source, target, going)
            free = [parcel for parcel in blocked if waiting.free(parcel)]
            if not self._send_along(target, list(waiting.along.values())):
                break
        return free

    def _welcome(self, target: Gate, batch: list[Parcel]) -> list[Parcel]:
        objections = target.objections(batch)
        for parcel in batch:
            if parcel.id in objections:
                self._refuse(parcel, objections[parcel.id])
        return [parcel for parcel in batch if parcel.id not in objections]

    def _send(self, target: Gate, batch: list[Parcel], since: float) -> int:
        if not batch:
            return 0
        if self.report.copy:
            return self._copy(target, batch)
        return self._deliver(target, self._source.depart(batch, target.address), since)

    def _send_along(self, target: Gate, parcels: list[Parcel]) -> bool:
        """What completed stays where it is, too: it is over in both. True if there was something to be sent."""
        moving = [parcel for parcel in parcels if parcel.state is State.CANCELLED and not self.report.copy]
        self._send(target, moving, self._queue.clock.boottime())
        copied = [parcel for parcel in parcels if parcel.state is State.COMPLETED or self.report.copy]
        outcomes = target.admit(copied) if copied else {}
        added = [task_id for task_id, outcome in outcomes.items() if outcome is Outcome.ADDED]
        self.report.along += len(added)
        self.report.confirmed += len(added) - len(target.missing(added))
        return bool(moving or added)

    def _deliver(self, target: Gate, parcels: list[Parcel], since: float) -> int:
        """Let what has departed into the target, make sure that it is there, delete it here."""
        if not parcels or self._queue.clock.boottime() - since > SLEPT_SECONDS:
            return 0
        outcomes = target.admit(parcels)
        arrived = [parcel for parcel in parcels if outcomes[parcel.id] is not Outcome.LEAVING]
        missing = target.missing(parcel.id for parcel in arrived)
        self._source.dismiss(parcel for parcel in arrived if parcel.id not in missing)
        self._count(target, parcels, outcomes, len(missing))
        if missing:
            raise StorageError(
                f"{len(missing)} tasks were let into {target.address} and are not there, {min(missing)} for one; "
                f"they are kept in {self._source.address}, on their way: look what became of them before you go on"
            )
        return len(arrived)

    def _bring_back(self, target: Gate) -> None:
        """A move the other way that was broken off is finished first: its tasks may be in both, marked there."""
        for batch, _ in self._batches(target.departed(self._source.address)):
            outcomes = self._source.admit(batch)
            back = [parcel for parcel in batch if outcomes[parcel.id] is not Outcome.LEAVING]
            missing = self._source.missing(parcel.id for parcel in back)
            target.dismiss(parcel for parcel in back if parcel.id not in missing)
            self.report.returned += len(back) - len(missing)

    # Copy

    def _copy(self, target: Gate, batch: list[Parcel]) -> int:
        outcomes = target.admit(batch)
        batch = [parcel for parcel in batch if parcel.id not in self._copied]  # every sweep meets them all again
        self._copied.update(parcel.id for parcel in batch)
        missing = target.missing(parcel.id for parcel in batch)
        self._count(target, batch, outcomes, len(missing))
        return sum(outcome in (Outcome.ADDED, Outcome.DUPLICATE) for outcome in outcomes.values())

    # Count

    def _sweep_dry(self) -> None:
        going = frozenset({*ORDER, State.BLOCKED, State.CANCELLED})
        marked = () if self.report.copy else self._source.departed(self._target.address if self._target else "")
        for batch, _ in self._batches(marked):
            self._tally(batch)
        for state in (*ORDER, State.BLOCKED):
            for batch, _ in self._batches(self._export(state)):
                welcome = self._welcome(self._target, batch) if self._target else batch
                waiting = Waiting(self._source, self._target, going)
                free = [parcel for parcel in welcome if state is not State.BLOCKED or waiting.free(parcel)]
                self.report.held_back += len(welcome) - len(free)
                if self._target:
                    self.report.there += len(free) - len(self._target.missing(parcel.id for parcel in free))
                self._tally(free)

    def _tally(self, parcels: Iterable[Parcel]) -> None:
        for parcel in parcels:
            state = str(parcel.state)
            self.report.sent[state] = self.report.sent.get(state, 0) + 1
        self._tell(self.report)

    def _count(self, target: Gate, parcels: list[Parcel], outcomes: dict[str, Outcome], missing: int) -> None:
        counted = Counter(outcomes[parcel.id] for parcel in parcels)
        for parcel in parcels:
            if outcomes[parcel.id] is Outcome.LEAVING:
                self._refuse(parcel, f"it is on its way from {target.address} to another queue; finish that move first")
            elif outcomes[parcel.id] is Outcome.DUPLICATE:
                self._refuse(parcel, f"its key was taken in {target.address} meanwhile; it is there, failed")
        self.report.there += counted[Outcome.THERE]
        self.report.confirmed += len(parcels) - counted[Outcome.LEAVING] - missing
        self._tally(parcel for parcel in parcels if outcomes[parcel.id] is not Outcome.LEAVING)

    def _refuse(self, parcel: Parcel, reason: str) -> None:
        if parcel.id not in self._refused:
            self._refused.add(parcel.id)
            self.report.refuse(Refusal(parcel.id, parcel.task.key, reason))

    def _look_back(self) -> None:
        counts = self._queue.stats().states
        stay = (State.READY, State.SCHEDULED, State.BLOCKED, State.CLAIMED, State.FAILED)
        self.report.left = {str(state): counts.get(state, 0) for state in stay if counts.get(state)}
        marked = Counter(parcel.to for parcel in self._source.departed())
        self.report.on_the_way = marked.pop(self.report.target, 0)
        self.report.elsewhere = dict(marked)

    def _batches(self, parcels: Iterable[Parcel]) -> Iterator[tuple[list[Parcel], float]]:
        """With the time from which a batch was read."""
        rest = iter(parcels)
        while True:
            since = self._queue.clock.boottime()
            batch = list(islice(rest, BATCH))
            if not batch:
                return
            yield batch, since
