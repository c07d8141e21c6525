"""SQS: the queue's own attributes, and visibility, tried on a small queue that is deleted again."""

import json
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from dibs.clock import Clock
from dibs.doctor.finding import Finding, Level
from dibs.doctor.folders.times import skewed
from dibs.doctor.report import Report
from dibs.doctor.traces import is_left, new_name
from dibs.errors import DibsError
from dibs.queues import split_url
from dibs.queues.sqs.address import parse
from dibs.queues.sqs.place import Place
from dibs.queues.sqs.service import NoQueue, Service

_HOLD_SECONDS = 30
_FEW_RECEIPTS = 8  # max_attempts and max_deaths of a task, unless somebody said otherwise
_PREFIX = "dibs-doctor-"


def examine_sqs(
    report: Report, url: str, clock: Clock, rng: random.Random, tell: Callable[[str], None], *, quick: bool
) -> None:
    from urllib.parse import parse_qsl

    report.kind = "SQS"
    _, path, query = split_url(url)
    address = parse(url, path, dict(parse_qsl(query, keep_blank_values=True)))
    service = Service(address, clock, rng)
    tell("attributes")
    report.findings += _attributes(Place(address, service, create=False))
    tell("visibility")
    _sweep(service, clock)
    report.findings.append(_visibility(service, f"{_PREFIX}{new_name(clock, rng)}"))
    now = service.now()
    if now is not None:
        report.findings.append(skewed(now - clock.wall(), "service"))


def _attributes(place: Place) -> Iterator[Finding]:
    try:
        found = place.attributes("RedrivePolicy", "MessageRetentionPeriod", "VisibilityTimeout")
    except NoQueue:
        yield Finding(check="queue", tried="asked", happened="not there yet; the first push makes it", level=Level.NOTE)
        return
    yield _dead_letters(place, found.get("RedrivePolicy", ""))
    days = int(found.get("MessageRetentionPeriod", "345600")) / 86400
    if days < 14:
        words = f"messages are kept for {days:g} days: SQS then deletes tasks that nobody has run"
        remedy = "set MessageRetentionPeriod to 1209600 (14 days, the most)"
        yield Finding(check="retention", tried="asked", happened=words, level=Level.WARNING, remedy=remedy)
    else:
        yield Finding(check="retention", tried="asked", happened=f"{days:g} days, the most that SQS offers")


def _dead_letters(place: Place, policy: str) -> Finding:
    tried = "asked"
    if not policy:
        words = "no redrive policy; dibs moves failed tasks to NAME-failed itself"
        return Finding(check="dead letters", tried=tried, happened=words, level=Level.NOTE)
    try:
        place.failed_url(create=False)
    except DibsError as error:
        words = f"the queue that the redrive policy names cannot be used: {error}"
        remedy = "make it, or change the policy: SQS drops nothing, but a failed task comes back for ever"
        return Finding(check="dead letters", tried=tried, happened=words, level=Level.WARNING, remedy=remedy)
    most = int(json.loads(policy).get("maxReceiveCount", 0))
    if most < _FEW_RECEIPTS:
        words = f"SQS moves a task away after it was given out {most} times, before dibs has used up its attempts"
        remedy = f"set maxReceiveCount to {_FEW_RECEIPTS} or more"
        return Finding(check="dead letters", tried=tried, happened=words, level=Level.NOTE, remedy=remedy)
    words = f"after {most} times to the queue that the redrive policy names, which is there"
    return Finding(check="dead letters", tried=tried, happened=words)


def _visibility(service: Service, name: str) -> Finding:
    tried = "a message in a queue of its own"
    try:
        queue = str(service.ask("create_queue", QueueName=name)["QueueUrl"])
        try:
            service.ask("send_message", QueueUrl=queue, MessageBody="x")
            first = _received(service, queue, wait=5)
            if first is None:
                words = "a message that was sent is not given out within 5 s"
                return Finding(check="visibility", tried=tried, happened=words, level=Level.WARNING)
            if _received(service, queue, wait=1) is not None:
                words = "a message in hand was given out again: two workers could hold one task"
                return Finding(
                    check="visibility", tried=tried, happened=words, level=Level.BAD, remedy="use SQS itself"
                )
            handle = first["ReceiptHandle"]
            service.ask("change_message_visibility", QueueUrl=queue, ReceiptHandle=handle, VisibilityTimeout=0)
            if _received(service, queue, wait=5) is None:
                words = "a message that was given back is not given out again"
                return Finding(
                    check="visibility", tried=tried, happened=words, level=Level.BAD, remedy="use SQS itself"
                )
        finally:
            service.ask("delete_queue", QueueUrl=queue)
    except DibsError as error:
        words = f"could not be tried: {error}"
        remedy = "allow sqs:CreateQueue and sqs:DeleteQueue on dibs-doctor-* for the examination, and run it again"
        return Finding(check="visibility", tried="no", happened=words, level=Level.ONE_HOST, remedy=remedy)
    words = "hidden while in hand, given out again when given back"
    return Finding(check="visibility", tried=tried, happened=words, many=True)


def _sweep(service: Service, clock: Clock) -> None:
    """Queues that doctors left who were killed."""
    with suppress(DibsError):  # it may not list them
        for queue in service.ask("list_queues", QueueNamePrefix=_PREFIX).get("QueueUrls", []):
            if is_left(queue.rpartition("/")[2], clock):
                service.ask("delete_queue", QueueUrl=queue)


def _received(service: Service, queue: str, wait: int) -> dict[str, Any] | None:
    answer = service.ask(
        "receive_message", QueueUrl=queue, VisibilityTimeout=_HOLD_SECONDS, WaitTimeSeconds=wait, MaxNumberOfMessages=1
    )
    found: list[dict[str, Any]] = answer.get("Messages", [])
    return found[0] if found else None
