"""Receiving: from what SQS gives out to what this host holds."""

from collections.abc import Iterator
from contextlib import suppress

from dibs.clock import Clock
from dibs.errors import LeaseLost
from dibs.queues.sqs.holdings import Holding, Holdings
from dibs.queues.sqs.messages import Message, message_from_answer
from dibs.queues.sqs.place import Place
from dibs.queues.sqs.sending import BATCH
from dibs.queues.sqs.service import Service
from dibs.queues.sqs.steps import MAX_HOLD, Steps, deadline
from dibs.task import Task

Found = tuple[str, Holding, Task, float]


class Receiver:
    def __init__(
        self, service: Service, place: Place, holdings: Holdings, steps: Steps, clock: Clock, boot: str
    ) -> None:
        self._service = service
        self._place = place
        self._holdings = holdings
        self._steps = steps
        self._clock = clock
        self._boot = boot

    def receive(self, limit: int, ttl: int, wait: int, worker: str) -> Iterator[Found]:
        """Up to `limit` of what is ready, ten a request, until nothing comes. Only the first request waits: a long
        poll asks all of SQS's servers. The message may come at its very start, so the lease is longer by the wait."""
        wait = min(wait, max(1, ttl // 4), MAX_HOLD - ttl)
        taken = 0
        while taken < limit:
            messages, until = self._ask(min(BATCH, limit - taken), ttl + wait, wait)
            for message in messages:
                found = self._held(message, ttl, until, worker)
                if found is not None:
                    taken += 1
                    yield found
            if not messages:
                return
            wait = 0

    def _ask(self, limit: int, visibility: int, wait: int) -> tuple[list[Message], float]:
        """What SQS gave, and until when it holds."""
        answer, sent = self._service.timed(
            "receive_message",
            QueueUrl=self._place.url,
            MaxNumberOfMessages=limit,
            VisibilityTimeout=visibility,
            WaitTimeSeconds=wait,
            AttributeNames=["ApproximateReceiveCount", "SentTimestamp"],
            MessageAttributeNames=["All"],
        )
        return [message_from_answer(item) for item in answer.get("Messages", ())], deadline(sent, visibility)

    def _held(self, message: Message, ttl: int, until: float, worker: str) -> Found | None:
        """None when it is not to be run: it killed its workers, or this host has it already."""
        task = message.task()
        if task.epoch >= task.max_attempts + task.max_deaths:
            self._steps.bury(message, f"given out {task.epoch - 1} times, and nobody ended it", worker)
            with suppress(LeaseLost):  # then it is in both, and the next claimer ends it
                self._steps.delete(message, until)
            return None
        holding = Holding(message=message, worker=worker, ttl=ttl, since=self._clock.boottime(), boot=self._boot)
        name = self._holdings.name(task.id, task.epoch)
        return (name, holding, task, until) if self._holdings.add(name, holding, until) else None
