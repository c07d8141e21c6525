"""SQS under contention: many receive at once, and no message is in two hands."""

from typing import Any

from dibs.clock import SYSTEM, Clock
from dibs.doctor.crew import Crew
from dibs.doctor.finding import Finding, Level
from dibs.queues.sqs.service import Service

HOLD_SECONDS = 30
_CREW = 4
_AT_ONCE = 10  # as many as one request may send
_FEW = 20  # one in so many may be given out twice: SQS promises "at least once"


class Acts:
    def __init__(self, place: list[str]) -> None:
        from dibs.doctor.servers.sqs import service_of

        url, self._queue = place
        self._service = service_of(url, SYSTEM)

    def ready(self, me: int) -> bool:
        self._service.ask("get_queue_attributes", QueueUrl=self._queue, AttributeNames=["QueueArn"])
        return True

    def receive(self, me: int) -> list[str]:
        """What was given to this one, until there is no more."""
        mine: list[str] = []
        while found := received(self._service, self._queue, wait=1):
            mine.append(str(found["MessageId"]))
        return mine


def received(service: Service, queue: str, wait: int) -> dict[str, Any] | None:
    answer = service.ask(
        "receive_message", QueueUrl=queue, VisibilityTimeout=HOLD_SECONDS, WaitTimeSeconds=wait, MaxNumberOfMessages=1
    )
    found: list[dict[str, Any]] = answer.get("Messages", [])
    return found[0] if found else None


def contended(service: Service, url: str, queue: str, clock: Clock, *, quick: bool) -> Finding:
    sent = _AT_ONCE * (1 if quick else 3)
    with Crew(__name__, [url, queue], _CREW, clock) as crew:
        crew.all("ready")
        for start in range(0, sent, _AT_ONCE):
            entries = [{"Id": str(number), "MessageBody": "x"} for number in range(start, start + _AT_ONCE)]
            service.ask("send_message_batch", QueueUrl=queue, Entries=entries)
        given = [one for mine in crew.all("receive") for one in mine]
    double = len(given) - len(set(given))
    tried = f"{_CREW} receivers, {sent} messages"
    if not double:
        return Finding(check="receivers", tried=tried, happened="no message was in two hands", many=True)
    words = f"{double} were given out again while in hand: two workers could hold one task"
    level = Level.BAD if double * _FEW > sent else Level.WARNING
    return Finding(check="receivers", tried=tried, happened=words, level=level, remedy="use SQS itself")
