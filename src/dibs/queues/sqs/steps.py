"""The steps of a lease: renew, complete, give back, dead-letter; each shows SQS the receipt.

No step is sent after the lease's own deadline, which is counted on the boottime clock from before the request that
gave or renewed it was sent, and a little short: SQS may still accept an old receipt when somebody else has the task.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import ceil
from typing import Any

from dibs.clock import Clock, iso
from dibs.errors import BadInput, LeaseLost
from dibs.queues.held import Lease
from dibs.queues.lost import not_recorded
from dibs.queues.sqs.holdings import Holding, Holdings
from dibs.queues.sqs.messages import Message, attributes_to_send
from dibs.queues.sqs.place import Place
from dibs.queues.sqs.service import ANSWER_SECONDS, Service, Unanswered

MAX_HOLD = 43200  # SQS: 12 hours from when it gave the message out
SHARE = 0.98  # of the time SQS grants, what a holder relies on
_ERROR_LENGTH = 2000
_MAX_ATTRIBUTES = 10
_GONE = "it ran out, was ended by another process of this host, or was never held here"


def deadline(sent: float, visibility: int) -> float:
    return sent + visibility * SHARE


class Steps:
    def __init__(self, service: Service, place: Place, holdings: Holdings, clock: Clock) -> None:
        self._service = service
        self._place = place
        self._holdings = holdings
        self._clock = clock

    def renew(self, name: str, holding: Holding) -> float:
        """Until when it holds now. LeaseLost when it does not, as from every step."""
        with self._held(name) as until:
            seconds = min(holding.ttl, self.room(holding))
            if seconds < 1:
                raise LeaseLost(f"SQS lets a task be held for {MAX_HOLD // 3600} hours at most")
            _, sent = self._service.timed("change_message_visibility", before=until, **self._visible(holding, seconds))
            end = deadline(sent, seconds)
            self._holdings.extend(name, end)
            return end

    def complete(self, name: str, holding: Holding) -> None:
        with self._held(name) as until:
            self.delete(holding.message, until)
            self._holdings.remove(name)

    def complete_many(self, held: Sequence[tuple[str, Holding]]) -> set[str]:
        """The names of those that were completed; the others are lost. At most ten, in one request."""
        alive = {}
        for name, holding in held:
            until = self._holdings.until(name)
            if until is not None and until > self._clock.boottime():
                alive[name] = (holding, until)
        if not alive:
            return set()
        names = list(alive)
        entries = [{"Id": str(n), "ReceiptHandle": alive[name][0].message.receipt} for n, name in enumerate(names)]
        before = min(until for _, until in alive.values())
        try:
            answer = self._service.ask("delete_message_batch", before=before, QueueUrl=self._place.url, Entries=entries)
        except LeaseLost:
            answer = {}  # the time of one of them ran out: now each for itself
        done = {names[int(entry["Id"])] for entry in answer.get("Successful", ())}
        for name in names:
            if name in done:
                self._holdings.remove(name)
            elif self._completed(name, alive[name][0]):
                done.add(name)
        return done

    def _completed(self, name: str, holding: Holding) -> bool:
        try:
            self.complete(name, holding)
            return True
        except LeaseLost:
            return False

    def give_back(self, name: str, holding: Holding, delay: float = 0.0) -> None:
        """To the queue, after `delay` seconds, as far as the 12 hours allow."""
        seconds = max(0, min(ceil(delay), self.room(holding)))
        with self._held(name) as until:
            try:
                self._service.ask(
                    "change_message_visibility", before=until, twice=False, **self._visible(holding, seconds)
                )  # fmt: skip
            except Unanswered:
                raise LeaseLost("SQS did not say whether it took the task back; others get it, now or later") from None
            self._holdings.remove(name)

    def dead_letter(self, name: str, holding: Holding, error: str) -> None:
        """To the dead-letter queue, and only then out of this one: it may be in both, never in none."""
        with self._held(name) as until:
            self.bury(holding.message, error, holding.worker)
            self.delete(holding.message, until)
            self._holdings.remove(name)

    def bury(self, message: Message, error: str, worker: str) -> None:
        """Send a copy to the dead-letter queue, with the error beside it if there is room."""
        url = self._place.failed_url()
        attributes = attributes_to_send(message)
        note = {"error": error[:_ERROR_LENGTH], "epoch": message.count, "worker": worker, "at": iso(self._clock.wall())}
        told = {**attributes, "dibs-failed": {"DataType": "String", "StringValue": json.dumps(note)}}
        if len(told) <= _MAX_ATTRIBUTES:
            try:
                self._service.ask("send_message", QueueUrl=url, MessageBody=message.body, MessageAttributes=told)
                return
            except BadInput:
                pass  # too long with the error: the task itself matters more
        self._service.ask("send_message", QueueUrl=url, MessageBody=message.body, MessageAttributes=attributes)

    def delete(self, message: Message, before: float) -> None:
        self._service.ask("delete_message", before=before, QueueUrl=self._place.url, ReceiptHandle=message.receipt)

    def room(self, holding: Holding) -> int:
        """Whole seconds that SQS would still let it be held, or held back."""
        return int(holding.since - ANSWER_SECONDS + MAX_HOLD - self._clock.boottime())

    def lost(self, lease: Lease, why: object) -> LeaseLost:
        lease.state = "lost"
        return not_recorded(lease.id, lease.epoch, f"no longer held at epoch {lease.epoch} ({why})")

    @contextmanager
    def _held(self, name: str) -> Iterator[float]:
        """While it is held; a step that finds it lost ends it here too."""
        with self._holdings.step(name) as until:
            if until is None:
                raise LeaseLost(_GONE)
            try:
                yield until
            except LeaseLost:
                self._holdings.remove(name)
                raise

    def _visible(self, holding: Holding, seconds: int) -> dict[str, Any]:
        return {
            "QueueUrl": self._place.url,
            "ReceiptHandle": holding.message.receipt,
            "VisibilityTimeout": seconds,
        }
