"""How a runner records what became of its tasks. An outage is waited out while the leases hold; a step whose answer was
lost may be taken again: it is found done, or done now."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dibs.errors import BadInput, LeaseLost, StorageError
from dibs.queues.held import Lease
from dibs.queues.queue import Queue
from dibs.worker.batch import Batch
from dibs.worker.job import Job
from dibs.worker.work import Done, Failed, GivenUp

COMPLETED, FAILED, LOST = range(3)
_FIRST_PAUSE = 0.01
_LONGEST_PAUSE = 1.0

Outcome = Done | Failed | GivenUp


class Recorded(NamedTuple):
    how: int | None
    error: str = ""
    following: Lease | None = None


class Recording:
    def __init__(self, job: Job, queue: Queue, trouble: Callable[[StorageError], None]) -> None:
        self._job = job
        self._queue = queue
        self._trouble = trouble
        self.stopping = False  # then nothing more is claimed

    def record(self, lease: Lease, outcome: Outcome, chained: bool) -> Recorded:
        """Take the step that the outcome asks for."""
        pause = _FIRST_PAUSE
        until = lease.deadline
        while True:
            try:
                return self._step(lease, outcome, chained)
            except LeaseLost as error:
                lease.state = "lost"
                return Recorded(LOST, str(error))
            except StorageError as error:
                self._trouble(error)
                if self._queue.clock.boottime() >= until and not lease.held:
                    return Recorded(LOST, str(error))
                pause = min(pause * 2, _LONGEST_PAUSE)
                self._queue.clock.sleep(pause)

    def _step(self, lease: Lease, outcome: Outcome, chained: bool) -> Recorded:
        if lease.state in ("completed", "failed", "released"):  # the function took the step itself
            return Recorded({"completed": COMPLETED, "failed": FAILED}.get(lease.state))
        if isinstance(outcome, Done):
            try:
                return Recorded(COMPLETED, following=self._complete(lease, outcome.result, chained))
            except BadInput as error:
                outcome = Failed(f"its result cannot be kept: {error}")
        if isinstance(outcome, Failed):
            lease.fail(outcome.error, retry=outcome.retry)
            return Recorded(FAILED, outcome.error)
        lease.release()
        return Recorded(None, outcome.why)

    def _complete(self, lease: Lease, result: Any, chained: bool) -> Lease | None:
        """And claim the next with it, where that costs nothing more."""
        if chained and not self.stopping:
            return self._queue.complete_and_claim(lease, result, ttl=self._job.ttl, **self._job.filters)
        lease.complete(result)
        return None

    def settle(self, batch: Batch, leases: Sequence[Lease], chained: bool) -> list[Lease]:
        """Record what is done of a batch, and claim the next with it, where that costs nothing more."""
        pause = _FIRST_PAUSE
        until = max((lease.deadline for lease in leases), default=0.0)
        while True:
            try:
                return batch.record(self._chain if chained and not self.stopping else None)
            except StorageError as error:
                self._trouble(error)
                if self._queue.clock.boottime() >= until and not any(lease.held for lease in leases):
                    batch.lose()
                    return []
                pause = min(pause * 2, _LONGEST_PAUSE)
                self._queue.clock.sleep(pause)

    def _chain(self, done: list[Lease]) -> list[Lease]:
        job = self._job
        return self._queue.complete_and_claim_many(done, job.batch, ttl=job.ttl, **job.filters)
