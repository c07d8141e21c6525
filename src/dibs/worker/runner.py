"""A runner: the process that claims tasks and runs them, on its own. Started by the supervisor.

Its leases are kept by the supervisor, which also cleans up after its death; so a runner beats for
nothing and tells nobody of a task that went well. What it has in hand stands on the board. When the
supervisor dies it stops: nobody would keep its leases.
"""

import os
import threading
from collections.abc import Sequence
from typing import NamedTuple

from dibs.errors import BadInput, DibsError, LeaseLost, StorageError
from dibs.queues.channel import Channel
from dibs.queues.held import Lease
from dibs.queues.keeping import Keeping
from dibs.queues.queue import Queue
from dibs.worker.batch import Batch
from dibs.worker.board import HANDLE_BYTES, NO_LIMIT, Board, Slot
from dibs.worker.job import Job
from dibs.worker.recording import COMPLETED, LOST, Outcome, Recording
from dibs.worker.tales import Tales
from dibs.worker.work import Done, Failed, Work

ORPHANED = "the supervisor died"
_LONGEST_OUTAGE_PAUSE = 5.0
_GRACE_SECONDS = 5.0
BAD_EXIT = 1
_OUTAGES = 5
_UNKEPT_PAUSE = 0.5
_NO_TICKET_PAUSE = 0.1
_LOOK_AGAIN, _CLOSE = 0.3, 0.1  # shares of the TTL
SHOWN_TTL = 2.0  # the supervisor looks at the board ten times a second


class Ran(NamedTuple):
    begun: bool  # false when it was given back unstarted
    following: Lease | None = None


class Runner:
    def __init__(
        self, job: Job, queue: Queue, work: Work, board: Board, slots: Sequence[Slot], channel: Channel
    ) -> None:
        self._job = job
        self._queue = queue
        self._work = work
        self._board = board
        self._slots = slots
        self._channel = channel
        self._now = queue.clock.boottime
        self._keeping = Keeping(queue, channel.send)
        self._tales = Tales(channel, queue.clock, every=job.every_event)
        self._batches: dict[Slot, Batch] = {}
        self._recording = Recording(job, queue, self._tell_trouble)
        self._stopping = False
        self._stopped = threading.Event()
        self._filters = job.filters
        self._orphaned = False
        self._fatal: DibsError | None = None
        queue.guarded = True
        queue.guard_pid = os.getppid()

    def run(self) -> None:
        """Until told to stop. DibsError when it cannot go on."""
        threading.Thread(target=self._listen, name="control", daemon=True).start()
        self._channel.send({"ready": os.getpid()})
        threads = [threading.Thread(target=self._serve_safely, args=(slot,)) for slot in self._slots[1:]]
        for thread in threads:
            thread.start()
        self._serve_safely(self._slots[0])
        for thread in threads:
            thread.join()
        self._tales.flush()
        if self._fatal is not None:
            raise self._fatal

    def stop(self) -> None:
        """Finish what is in hand, claim nothing more."""
        self.stop_soon()
        self._stopped.set()
        self._queue.rouse()

    def stop_soon(self) -> None:
        """The same from a signal handler, where no lock may be taken."""
        self._stopping = self._recording.stopping = True

    def _listen(self) -> None:
        """The control thread: what the supervisor says, and its death."""
        for message in self._tales.between(self._channel, self._job.ttl * _CLOSE):
            if not message:
                if self._stopping and not self._stopped.is_set():
                    self.stop()  # a signal has said so, which could wake nobody
                self._drop_overdue()
                for batch in list(self._batches.values()):
                    batch.unload()
            elif "stop" in message:
                self.stop()
            elif "look" in message:
                self._queue.rouse()
            for lease in self._keeping.hear(message):
                self._work.abandon(lease.id, "its lease was lost")
        self._orphaned = True
        self.stop()
        self._keeping.give_up()
        if not self._work.leave(ORPHANED) and self._keeping.in_hand:
            os._exit(BAD_EXIT)  # a function cannot be ended, and nobody keeps its lease

    def _drop_overdue(self) -> None:
        """End commands whose lease is about to run out: the supervisor lives, but does not keep it (it is stopped)."""
        for lease in self._keeping.in_hand:
            left = lease.deadline - self._now()
            if left < lease.ttl * _LOOK_AGAIN:
                lease.deadline = max(lease.deadline, self._queue.kept_until(lease))
                if lease.deadline - self._now() < lease.ttl * _CLOSE:
                    self._work.abandon(lease.id, "its lease ran out")

    def _serve_safely(self, slot: Slot) -> None:
        try:
            self._serve(slot)
        except DibsError as error:
            self._fatal = error
            self.stop()
        self._queue.stop_waiting()

    def _serve(self, slot: Slot) -> None:
        pause, outages = 0.0, 0
        limited = self._job.max_tasks is not None
        size = self._job.batch
        kind = type(self._queue)
        chained = not limited and (kind._chain if size == 1 else kind._chain_many) not in (
            Queue._chain,
            Queue._chain_many,
        )
        while not self._stopping:
            if limited and not self._board.take_ticket():
                slot.look(self._now())
                self._tales.flush()
                self._stopped.wait(_NO_TICKET_PAUSE)  # not the backend's way of waiting, which may claim
                continue
            begun = self._now()
            try:
                leases = self._queue.claim_many(size, ttl=self._job.ttl, **self._filters)
                outages = 0
            except StorageError as error:
                outages += 1
                self._storage_trouble(error, outages)
                leases = []
            if leases and size > 1:
                pause = 0.0
                while leases:
                    leases = self._run_batch(leases, slot, chained)
                continue
            if leases:
                pause = 0.0
                run = self._run(leases[0], slot, chained)
                while run.following is not None:
                    run = self._run(run.following, slot, chained)
                if not run.begun and limited:
                    self._board.return_ticket()
                continue
            if limited:
                self._board.return_ticket()
            if not outages:
                slot.look(begun)
            if not pause:
                self._channel.send({"empty": True})
            self._rest(pause := self._longer(pause))

    def _rest(self, pause: float) -> None:
        self._tales.flush()
        if self._stopping:
            return  # said while it looked: nobody is roused again
        pause *= 0.75 + self._queue.rng.random() / 2
        if type(self._queue)._wait is Queue._wait:
            self._stopped.wait(pause)
        else:
            self._queue._wait(pause)  # the backend knows when something may have become ready

    def _longer(self, pause: float) -> float:
        first = self._queue.first_pause
        if self._job.until_empty:
            return min(pause * 1.5 or first, 5 * first)
        return self._queue.idle_seconds if self._queue.wakes else min(pause * 1.5 or first, self._queue.idle_seconds)

    def _tell_trouble(self, error: StorageError) -> None:
        self._channel.send({"trouble": str(error)})

    def _storage_trouble(self, error: StorageError, outages: int) -> None:
        """An outage passes; but whoever waits for an empty queue wants to know rather than to wait for ever."""
        self._tell_trouble(error)
        if self._job.until_empty and outages >= _OUTAGES:
            raise error
        self._queue.clock.sleep(min(_LONGEST_OUTAGE_PAUSE, 0.1 * 2**outages))

    def _run(self, lease: Lease, slot: Slot, chained: bool) -> Ran:
        handle = self._keep(lease)
        if handle is None or self._orphaned:
            self._give_up([lease])
            return Ran(begun=False)
        started = self._now()
        outcome = self._do(lease, slot, started, handle)
        try:
            how, error, following = self._recording.record(lease, outcome, chained)
        finally:
            self._keeping.drop(lease)
        self._end(lease, slot, how, error, started)
        self._judge(outcome)
        return Ran(begun=True, following=following)

    def _do(self, lease: Lease, slot: Slot, started: float, handle: bytes = b"") -> Outcome:
        limit = self._limit(lease, started)
        shown = NO_LIMIT if limit is None else limit + (_GRACE_SECONDS if self._job.command else 0.0)
        slot.begin(lease.id, lease.epoch, lease.key or "", started, shown, handle, lease.deadline)
        return self._work.do(lease, slot, limit)

    def _judge(self, outcome: Outcome) -> None:
        """A command that fits no task must not use up the attempts of all."""
        if isinstance(outcome, Failed) and outcome.misfit:
            self._fatal = BadInput(outcome.error)
            self.stop()

    def _end(self, lease: Lease, slot: Slot, how: int | None, error: str, started: float) -> None:
        ended = self._now()
        slot.end(ended, how)
        if how != COMPLETED or self._job.every_event:
            self._tales.tell(lease, how, error, ended - started)

    def _give_up(self, leases: Sequence[Lease]) -> None:
        """Unstarted: nobody keeps them."""
        for lease in leases:
            _give_back(lease)
            self._keeping.drop(lease)
        self._stopped.wait(_UNKEPT_PAUSE)

    def _run_batch(self, leases: list[Lease], slot: Slot, chained: bool) -> list[Lease]:
        """Returns the next one, if it was claimed with the end of this."""
        kept = self._keeping.hold_all(leases)
        if len(kept) < len(leases) or self._orphaned:
            self._give_up([lease for lease in leases if lease not in kept or self._orphaned])
            kept = [] if self._orphaned else kept
        self._batches[slot] = batch = Batch(self._queue, kept)
        started: dict[str, float] = {}
        try:
            while not self._stopping and (lease := batch.next()) is not None:
                started[lease.id] = self._now()
                self._run_one(lease, slot, batch, started[lease.id])
            batch.give_back()
            following = self._recording.settle(batch, kept, chained)
        finally:
            del self._batches[slot]
            for lease in kept:
                self._keeping.drop(lease)
        for lease in batch.ended:
            if lease.id in started:
                how = COMPLETED if lease.state == "completed" else LOST
                self._end(lease, slot, how, "" if how == COMPLETED else "its lease was lost", started[lease.id])
        return following

    def _run_one(self, lease: Lease, slot: Slot, batch: Batch, started: float) -> None:
        outcome = self._do(lease, slot, started)
        if isinstance(outcome, Done) and lease.state == "held":
            try:
                batch.done(lease, outcome.result)
                slot.end(self._now(), None)  # counted when it is recorded
                return
            except BadInput as error:
                outcome = Failed(f"its result cannot be kept: {error}")
            except StorageError as error:
                self._tell_trouble(error)
                slot.end(self._now(), None)  # recorded later, or lost
                return
        how, error_text, _ = self._recording.record(lease, outcome, False)
        self._end(lease, slot, how, error_text, started)
        self._judge(outcome)

    def _keep(self, lease: Lease) -> bytes | None:
        """See that the lease is kept: what is to stand on the board for the supervisor, or None when it is lost."""
        if lease.ttl >= SHOWN_TTL and self._queue.vouched(lease) is not None:
            handle = self._keeping.note(lease).encode()
            if len(handle) <= HANDLE_BYTES:
                return handle
        return b"" if self._keeping.hold(lease) else None

    def _limit(self, lease: Lease, started: float) -> float | None:
        """When it must be over. A little before max_runtime: from then on the task may be another's."""
        timeout, longest = self._job.timeout, lease.task.max_runtime
        if timeout is None and longest is None:
            return None
        by_job = NO_LIMIT if timeout is None else started + timeout
        by_task = NO_LIMIT if longest is None else lease.since + longest - min(1.0, longest * 0.05)
        return min(by_job, by_task)


def _give_back(lease: Lease) -> None:
    try:
        lease.release()
    except LeaseLost:
        lease.state = "lost"
