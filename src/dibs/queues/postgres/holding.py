"""A holder's side of a queue in PostgreSQL: leases of what was claimed, the steps that end them, keeping them alive."""

from collections.abc import Collection, Iterable
from typing import Any

from dibs import states
from dibs.errors import StorageError
from dibs.facets import Filter
from dibs.liveness import Verdict
from dibs.queues.held import Lease
from dibs.queues.postgres.chaining import Chain
from dibs.queues.postgres.claiming import Taken
from dibs.queues.postgres.driver import Connection
from dibs.queues.postgres.identity import Identity
from dibs.queues.postgres.keeping import Keeping
from dibs.queues.postgres.lease import Held, PostgresLease, cell_of
from dibs.queues.postgres.looks import Looks
from dibs.queues.postgres.steps import BATCH, Ending, Move, Steps
from dibs.queues.postgres.taking import Taker
from dibs.queues.postgres.upkeep import Upkeep
from dibs.queues.queue import Queue
from dibs.queues.views import Event
from dibs.states import State
from dibs.task import checked_number, encode


class Holding(Queue):
    _identity: Identity
    _keeping: Keeping
    _links: Chain
    _looks: Looks
    _steps: Steps
    _taker: Taker
    _upkeep: Upkeep

    def _lease_of(self, taken: Taken, ttl: float, boot: str) -> Lease:
        record, cell, sent = taken
        longest = record.get("max_runtime")
        until = None if longest is None else sent + longest
        deadline = sent + ttl if until is None else min(sent + ttl, until)
        holder = cell.holder
        token = Held(holder, boot, until)
        return PostgresLease(self, (record, cell), cell.epoch, holder, ttl, deadline, sent, token)

    def lease(self, task_id: str, epoch: int) -> Lease:
        asked = self.clock.boottime()
        known = self._looks.known(task_id)
        if known.cell.state is not State.CLAIMED or known.cell.epoch != epoch:
            raise self._steps.lost(known.id, epoch)
        until = None if known.until is None else asked + (known.until - known.now)
        here = known.boot == self.host.boot
        deadline = known.beat + known.ttl if here else asked
        return PostgresLease(
            self,
            known.task,
            epoch=epoch,
            worker=known.cell.holder,
            ttl=known.ttl,
            deadline=deadline if until is None else min(deadline, until),
            since=asked - (known.now - known.since),
            token=Held(known.cell.holder, known.boot or "", until),
        )

    def renew(self, lease: Lease) -> None:
        if not self._keeping.renew(lease):
            lease.state = "lost"
            raise self._steps.lost(lease.id, lease.epoch)

    def complete(self, lease: Lease, result: Any = None, *, connection: Connection | None = None) -> None:
        encode(result)
        self._step(lease, self._completion(lease, result), connection)

    def complete_many(self, leases: Iterable[Lease]) -> list[Lease]:
        """Each is completed by itself, but all in one statement."""
        given = list(leases)
        held = {lease.id: lease for lease in given if lease.state == "held"}
        endings = self._endings(held.values())
        with _Unsure(held.values()) as unsure:
            done = self._steps.complete_many(endings, unsure=unsure)
        return _settled(given, held, done)

    def _endings(self, leases: Iterable[Lease]) -> dict[Ending, dict[str, str]]:
        endings: dict[Ending, dict[str, str]] = {}
        last: tuple[str, int] | None = None  # of those that leave no event, which mostly come together
        plain: dict[str, str] = {}
        for lease in leases:
            if lease.result is None:
                ours = (lease.token.session, lease.epoch)
                if ours != last:
                    last, plain = ours, endings.setdefault(Ending(*ours), {})
                plain[lease.id] = ""
            else:
                told = self._completion(lease, lease.result).noted or ""
                endings.setdefault(Ending(lease.token.session, lease.epoch, told != ""), {})[lease.id] = told
        return endings

    def _chain_many(self, leases: list[Lease], limit: int, ttl: float, wanted: Filter) -> list[Lease]:
        held = {lease.id: lease for lease in leases if lease.state == "held"}
        endings = self._endings(held.values())
        plain = len(endings) == 1 and len(held) <= BATCH and not next(iter(endings)).with_events
        if not plain or not self._taker.is_busy:
            return super()._chain_many(leases, limit, ttl, wanted)
        ((ending, told),) = endings.items()
        session = self._identity.introduce(self.guard_pid)
        with _Unsure(held.values()) as unsure:
            if unsure:
                return super()._chain_many(leases, limit, ttl, wanted)
            done, found = self._links.link_many(ending, sorted(told), limit, ttl, wanted, session)
        _settled(leases, held, done)
        self._taker.bury(found)
        return [self._lease_of(each, ttl, self.host.boot) for each in found.taken]

    def _chain(self, lease: Lease, result: Any, ttl: float, wanted: Filter) -> Lease | None:
        if not self._taker.is_busy:
            return super()._chain(lease, result, ttl, wanted)
        encode(result)
        session = self._identity.introduce(self.guard_pid)
        held: Held = lease.token
        try:
            found = self._links.link(self._completion(lease, result), ttl, wanted, session, unsure=held.unsure)
        except StorageError:
            held.unsure = True
            raise
        if found is None:
            lease.state = "lost"
            raise self._steps.lost(lease.id, lease.epoch)
        self._taker.bury(found)
        return self._lease_of(found.taken[0], ttl, self.host.boot) if found.taken else None

    def _completion(self, lease: Lease, result: Any) -> Move:
        cell = cell_of(lease)
        return Move(lease.id, cell, states.complete(cell), self._event(lease, "completed", result=result))

    def release(self, lease: Lease, delay: float = 0.0) -> None:
        checked_number("delay", delay, 0)
        cell = cell_of(lease)
        self._step(lease, Move(lease.id, cell, states.release(cell, float(delay)), wait=float(delay)))

    def fail(self, lease: Lease, error: str, *, retry: bool = True) -> None:
        task, cell = lease.task, cell_of(lease)
        wait = states.backoff(task.backoff, task.max_backoff, cell.attempts + 1, self.rng)
        after = states.fail(cell, task.max_attempts if retry else 0, wait)
        event = self._event(lease, "failed", error=error)
        self._step(lease, Move(lease.id, cell, after, event, wait if after.due else 0.0))

    def _step(self, lease: Lease, move: Move, connection: Connection | None = None) -> None:
        held: Held = lease.token
        if connection is not None:
            done = self._steps.within(connection, move)
        else:
            try:
                done = self._steps.take(move, unsure=held.unsure)
            except StorageError:
                held.unsure = True  # whoever tries again finds out
                raise
        if not done:
            lease.state = "lost"
            raise self._steps.lost(lease.id, lease.epoch)

    def _event(self, lease: Lease, what: str, error: str = "", result: Any = None) -> Event:
        at = round(self.clock.wall(), 3)
        return Event(epoch=lease.epoch, what=what, worker=lease.token.session, at=at, error=error, result=result)

    # Keep

    def handle(self, lease: Lease) -> str:
        held: Held = lease.token
        held.kept = True
        return f"{lease.epoch}:{held.session}:{lease.id}"

    def vouched(self, lease: Lease) -> float | None:
        return None if self.guard_pid is None else lease.deadline

    def beat(self, handle: str) -> float | None:
        return self._keeping.beat(handle)

    def end(self, handle: str) -> None:
        epoch, session, task_id = handle.split(":", 2)
        self._upkeep.expire_one(task_id, int(epoch), session, Verdict.DEAD)

    def kept_until(self, lease: Lease) -> float:
        return self._keeping.kept_until(lease)


class _Unsure:
    """Whether what is done inside may have been done before; noted when nobody can tell afterwards."""

    def __init__(self, leases: Collection[Lease]) -> None:
        self._leases = leases

    def __enter__(self) -> bool:
        return any([lease.token.unsure for lease in self._leases])

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and issubclass(kind, StorageError):
            for lease in self._leases:
                lease.token.unsure = True


def _settled(given: list[Lease], held: dict[str, Lease], done: set[str]) -> list[Lease]:
    """Says to each lease what became of it. Those that were not completed now."""
    if len(done) == len(given):
        for lease in given:
            lease.state = "completed"
        return []
    for lease in held.values():
        lease.state = "completed" if lease.id in done else "lost"
    return [lease for lease in given if lease.state != "completed" or lease.id not in done]
