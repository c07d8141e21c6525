"""SQS: the queue's attributes, and visibility, alone and by many at once, on a small queue that is deleted again."""

import json
import random
from collections.abc import Callable, Iterator
from contextlib import suppress

from dibs.clock import Clock
from dibs.doctor.finding import Finding, Level
from dibs.doctor.folders.times import skewed
from dibs.doctor.place import settings
from dibs.doctor.report import Report
from dibs.doctor.servers.receivers import contended, received
from dibs.doctor.traces import is_left, new_name
from dibs.errors import DibsError
from dibs.queues import split_url
from dibs.queues.sqs.address import Address, parse
from dibs.queues.sqs.place import Place
from dibs.queues.sqs.service import NoQueue, Service

_FEW_RECEIPTS = 8  # max_attempts and max_deaths of a task, unless somebody said otherwise
_PREFIX = "dibs-doctor-"


def examine_sqs(
    report: Report, url: str, clock: Clock, rng: random.Random, tell: Callable[[str], None], *, quick: bool
) -> None:
    report.kind = "SQS"
    service = service_of(url, clock)
    tell("attributes")
    report.findings += _attributes(Place(_address(url), service, create=False))
    tell("visibility")
    _sweep(service, clock)
    report.findings += _tried(service, url, f"{_PREFIX}{new_name(clock, rng)}", clock, tell, quick=quick)
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


def _tried(
    service: Service, url: str, name: str, clock: Clock, tell: Callable[[str], None], *, quick: bool
) -> Iterator[Finding]:
    try:
        queue = str(service.ask("create_queue", QueueName=name)["QueueUrl"])
        try:
            found = _visibility(service, queue)
            yield found
            if found.level is Level.GOOD:
                tell("contending receivers")
                yield contended(service, url, queue, clock, quick=quick)
        finally:
            service.ask("delete_queue", QueueUrl=queue)
    except DibsError as error:
        words = f"could not be tried: {error}"
        remedy = "allow sqs:CreateQueue and sqs:DeleteQueue on dibs-doctor-* for the examination, and run it again"
        yield Finding(check="visibility", tried="no", happened=words, level=Level.ONE_HOST, remedy=remedy)


def _visibility(service: Service, queue: str) -> Finding:
    tried = "a message in a queue of its own"
    service.ask("send_message", QueueUrl=queue, MessageBody="x")
    first = received(service, queue, wait=5)
    if first is None:
        words = "a message that was sent is not given out within 5 s"
        return Finding(check="visibility", tried=tried, happened=words, level=Level.WARNING)
    wrong = ""
    if received(service, queue, wait=1) is not None:
        wrong = "a message in hand was given out again: two workers could hold one task"
    else:
        handle = first["ReceiptHandle"]
        service.ask("change_message_visibility", QueueUrl=queue, ReceiptHandle=handle, VisibilityTimeout=0)
        again = received(service, queue, wait=5)
        if again is None:
            wrong = "a message that was given back is not given out again"
        else:
            service.ask("delete_message", QueueUrl=queue, ReceiptHandle=again["ReceiptHandle"])
    if wrong:
        return Finding(check="visibility", tried=tried, happened=wrong, level=Level.BAD, remedy="use SQS itself")
    words = "hidden while in hand, given out again when given back"
    return Finding(check="visibility", tried=tried, happened=words)


def _sweep(service: Service, clock: Clock) -> None:
    """Queues that doctors left who were killed."""
    with suppress(DibsError):  # it may not list them
        for queue in service.ask("list_queues", QueueNamePrefix=_PREFIX).get("QueueUrls", []):
            if is_left(queue.rpartition("/")[2], clock):
                service.ask("delete_queue", QueueUrl=queue)


def service_of(url: str, clock: Clock) -> Service:
    return Service(_address(url), clock, random.Random())


def _address(url: str) -> Address:
    return parse(url, split_url(url)[1], settings(url))
