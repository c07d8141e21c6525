"""The Queue contract over an SQS queue: a message is a task, its visibility time-out is the lease.

SQS counts how often it gave a message out, and nothing else: that count is the epoch, and every lease before this one
counts as an attempt, however it ended. Nothing can be looked up, so an ended task leaves nothing behind but, if it
failed, a message in the dead-letter queue. See docs/guides/sqs.md for what that means to users.
"""

import os
import random
from collections.abc import Iterable
from contextlib import suppress
from math import ceil
from threading import local
from typing import Any

from dibs import states
from dibs.clock import SYSTEM, Clock
from dibs.errors import BadInput, DibsError, LeaseLost, Unsupported
from dibs.facets import Filter
from dibs.host import Host
from dibs.queues.held import Lease
from dibs.queues.sqs.address import MAX_POLL, Address, parse
from dibs.queues.sqs.cannot import Limited, cannot, check_pushed
from dibs.queues.sqs.holdings import Holding, Holdings
from dibs.queues.sqs.messages import body_of
from dibs.queues.sqs.place import Place
from dibs.queues.sqs.receiver import Receiver
from dibs.queues.sqs.sending import BATCH, send
from dibs.queues.sqs.service import Service
from dibs.queues.sqs.steps import MAX_HOLD, Steps
from dibs.queues.views import Capabilities, Stats
from dibs.states import State
from dibs.task import Task, checked_number, encode
from dibs.values import replace

MAX_DELAY = 900
_FRESH = 0.9
_ROUNDING = 0.002  # pushed_at is cut to the millisecond
_COUNTS = {
    "ApproximateNumberOfMessages": State.READY,
    "ApproximateNumberOfMessagesDelayed": State.SCHEDULED,
    "ApproximateNumberOfMessagesNotVisible": State.CLAIMED,
}


class SqsQueue(Limited):
    """A queue on Amazon SQS, or on a server that speaks its protocol."""

    capabilities = Capabilities(
        keys=False, facets=False, dependencies=False, order=False, owned=False, records=False,
        prioritises=False, admits=False,
    )  # fmt: skip
    idle_seconds = 10.0

    @classmethod
    def open(cls, url: str, path: str, settings: dict[str, str], **options: Any) -> "SqsQueue":
        return cls(url, parse(url, path, settings), **options)

    def __init__(
        self,
        url: str,
        address: Address,
        *,
        create: bool = True,
        pid: int | str | None = "self",
        clock: Clock = SYSTEM,
        host: Host | None = None,
        rng: random.Random | None = None,
    ) -> None:
        if isinstance(pid, int):
            raise Unsupported("sqs cannot end a lease with a process; leave --pid out and give a short --ttl")
        super().__init__(url, clock=clock, host=host, rng=rng)
        self._address = address
        self._service = service = Service(address, clock, self.rng)
        service.connect()
        self._place = place = Place(address, service, create=create)
        self._holdings = Holdings(address.leases, place.url, clock, self.host.boot)
        self._steps = Steps(service, place, self._holdings, clock)
        self._receiver = Receiver(service, place, self._holdings, self._steps, clock, self.host.boot)
        self._shown_pid = pid
        self._named = (0, "")
        self._worker()
        self._asked = local()
        self.requests = service.requests  # by kind

    # Push

    def _insert(self, tasks: list[Task]) -> list[Task]:
        bodies = []
        for task in tasks:
            check_pushed(task)
            delay = max(0, ceil((task.not_before or 0.0) - task.pushed_at - _ROUNDING))
            if delay > MAX_DELAY:
                cannot("delay a task for more than 15 minutes (900 s)", "push it later, or use a file: or s3: queue")
            bodies.append((body_of(task), delay))
        send(self._service, self._place.url, bodies)
        return [
            replace(task, state=State.SCHEDULED) if delay else task
            for task, (_, delay) in zip(tasks, bodies, strict=True)
        ]

    # Claim

    def _wait(self, seconds: float) -> None:
        """Leave the whole seconds to the next look: SQS then answers as soon as there is something."""
        whole = int(min(seconds, MAX_POLL))
        self.clock.sleep(seconds - whole)
        self._asked.wait = whole

    def _take(self, limit: int, ttl: float, wanted: Filter) -> list[Lease]:
        if wanted:
            cannot("filter what it gives out", "use a queue for each kind of work")
        seconds = ceil(ttl)
        if seconds > MAX_HOLD:
            raise BadInput(f"ttl {ttl:g} is not acceptable; sqs holds a task for at most 12 hours ({MAX_HOLD} s)")
        wait, self._asked.wait = getattr(self._asked, "wait", 0), 0
        leases: list[Lease] = []
        try:
            for found in self._receiver.receive(limit, seconds, max(wait, self._address.poll), self._worker()):
                leases.append(self._lease(*found))
        except DibsError:
            for lease in leases:
                with suppress(DibsError):
                    lease.release()
            raise
        return leases

    def _lease(self, name: str, holding: Holding, task: Task, until: float) -> Lease:
        return Lease(
            self,
            task,
            epoch=task.epoch,
            worker=holding.worker,
            ttl=float(holding.ttl),
            deadline=until,
            since=holding.since,
            token=(name, holding),
        )

    def _worker(self) -> str:
        pid = os.getpid()
        if self._named[0] != pid:
            shown = "cli" if self._shown_pid is None else str(pid)
            self._named = (pid, f"{self.host.name}-{shown}-{os.urandom(4).hex()}")
        return self._named[1]

    # Finish

    def lease(self, task_id: str, epoch: int) -> Lease:
        name = self._holdings.name(task_id, epoch)
        holding, until = self._holdings.read(name), self._holdings.until(name)
        if holding is None or until is None or until <= self.clock.boottime():
            raise LeaseLost(
                f"lease lost: task {task_id} is not held at epoch {epoch} on this host; with sqs a lease can only be "
                "used on the host that claimed it"
            )
        return self._lease(name, holding, holding.message.task(), until)

    def renew(self, lease: Lease) -> None:
        name, holding = lease.token
        longest = lease.task.max_runtime
        if longest is not None and self.clock.boottime() >= lease.since + longest:
            why = f"timed out: held longer than max_runtime {longest:g} s"
            self.fail(lease, why)
            raise self._steps.lost(lease, why)
        try:
            lease.deadline = self._steps.renew(name, holding)
        except LeaseLost as error:
            raise self._steps.lost(lease, error) from None

    def complete(self, lease: Lease, result: Any = None) -> None:
        """The message is deleted. SQS has no place for the result: it is checked, and dropped."""
        encode(result)
        try:
            self._steps.complete(*lease.token)
        except LeaseLost as error:
            raise self._steps.lost(lease, error) from None

    def complete_many(self, leases: Iterable[Lease]) -> list[Lease]:
        waiting = list(leases)
        for lease in waiting:
            encode(lease.result)
        lost: list[Lease] = []
        for start in range(0, len(waiting), BATCH):
            lost += self._complete_batch(waiting[start : start + BATCH])
        return lost

    def _complete_batch(self, batch: list[Lease]) -> list[Lease]:
        done = self._steps.complete_many([lease.token for lease in batch if lease.state == "held"])
        lost = []
        for lease in batch:
            ended = lease.state == "held" and lease.token[0] in done
            lease.state = "completed" if ended else "lost" if lease.state == "held" else lease.state
            if not ended:
                lost.append(lease)
        return lost

    def release(self, lease: Lease, delay: float = 0.0) -> None:
        if checked_number("delay", delay, 0) > self._steps.room(lease.token[1]):
            cannot("hold a task back for more than 12 hours", "give a shorter delay")
        self._give_back(lease, delay)

    def fail(self, lease: Lease, error: str, *, retry: bool = True) -> None:
        task = lease.task
        if retry and lease.epoch < task.max_attempts:
            self._give_back(lease, states.backoff(task.backoff, task.max_backoff, lease.epoch, self.rng))
            return
        name, holding = lease.token
        try:
            self._steps.dead_letter(name, holding, error)
        except LeaseLost as why:
            raise self._steps.lost(lease, why) from None

    def _give_back(self, lease: Lease, delay: float) -> None:
        name, holding = lease.token
        try:
            self._steps.give_back(name, holding, delay)
        except LeaseLost as error:
            raise self._steps.lost(lease, error) from None

    # Keep

    def handle(self, lease: Lease) -> str:
        name: str = lease.token[0]
        return name

    def beat(self, handle: str) -> float | None:
        holding, until = self._holdings.read(handle), self._holdings.until(handle)
        if holding is None or until is None:
            return None
        now = self.clock.boottime()
        longest = holding.message.task().max_runtime
        if longest is not None and now >= holding.since + longest:
            return None
        if until - now > holding.ttl * _FRESH:
            return until  # it was claimed a moment ago: a request for every task saved
        try:
            return self._steps.renew(handle, holding)
        except LeaseLost:
            return None

    def end(self, handle: str) -> None:
        holding = self._holdings.read(handle)
        if holding is None:
            return
        with suppress(LeaseLost):  # then it is over already: what was wanted
            self._steps.give_back(handle, holding)

    def kept_until(self, lease: Lease) -> float:
        return self._holdings.until(lease.token[0]) or 0.0

    # Look

    def store_time(self) -> float:
        now = self._service.now()
        if now is None:
            self._place.attributes("QueueArn")
            now = self._service.now()
        return self.clock.wall() if now is None else now

    def stats(self) -> Stats:
        """SQS's own counts, which may lag by a minute. What waits for its next attempt counts as claimed."""
        counts = self._place.attributes(*_COUNTS)
        found: dict[str, int] = {state: int(counts.get(name, 0)) for name, state in _COUNTS.items()}
        failed = self._place.failed_url(create=False)
        if failed is not None:
            names = list(_COUNTS)
            found[State.FAILED] = sum(int(count) for count in self._place.attributes(*names, url=failed).values())
        return Stats(states=found)
