"""Failed attempts, the dead-letter queue, and what SQS counts."""

import json
from typing import Any

import pytest

from dibs.errors import FormatError
from dibs.queues.sqs import SqsQueue
from sqs.conftest import Open
from sqs.server import Server
from sqs.test_leases import one


def dead_letters(sqs_server: Server, name: str) -> list[dict[str, Any]]:
    client = sqs_server.client()
    url = client.get_queue_url(QueueName=name)["QueueUrl"]
    found = client.receive_message(QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"])
    return list(found.get("Messages", []))


def test_a_task_is_tried_again_and_then_goes_to_the_dead_letter_queue(queue: SqsQueue, sqs_server: Server) -> None:
    task = queue.push({"n": 1}, backoff=0.0)
    for attempt in range(1, task.max_attempts + 1):
        lease = one(queue)
        assert (lease.id, lease.epoch, lease.task.attempts) == (task.id, attempt, attempt - 1)
        lease.fail(f"error {attempt} é\x00")
    assert queue.claim() is None
    states = queue.stats().states
    assert (states["ready"], states["claimed"], states["failed"]) == (0, 0, 1)
    (letter,) = dead_letters(sqs_server, f"{queue._address.name}-failed")
    assert json.loads(letter["Body"])["id"] == task.id
    note = json.loads(letter["MessageAttributes"]["dibs-failed"]["StringValue"])
    assert (note["error"], note["epoch"], note["worker"]) == ("error 3 é\x00", 3, lease.worker)


def test_a_failed_task_can_be_worked_from_the_dead_letter_queue(
    queue: SqsQueue, open_sqs: Open, sqs_server: Server
) -> None:
    task = queue.push("again")
    one(queue).fail("hopeless", retry=False)
    lease = one(open_sqs(sqs_server.url(f"{queue._address.name}-failed")))
    assert (lease.id, lease.payload, lease.epoch) == (task.id, "again", 1)


def test_a_retry_waits(queue: SqsQueue) -> None:
    queue.push(1, backoff=2.0)
    one(queue).fail("no")
    assert queue.claim() is None
    assert one(queue, wait=60).epoch == 2


def test_the_queues_own_policy_names_the_dead_letter_queue(open_sqs: Open, sqs_server: Server, url: str) -> None:
    client = sqs_server.client()
    name = url.removeprefix("sqs://").partition("?")[0]
    grave = client.create_queue(QueueName=f"{name}-grave")["QueueUrl"]
    arn = client.get_queue_attributes(QueueUrl=grave, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 2})
    client.create_queue(QueueName=name, Attributes={"RedrivePolicy": policy})
    queue = open_sqs(create=False)
    hopeless, poison = queue.push("hopeless"), queue.push("poison", max_attempts=50, backoff=0.0)
    while (lease := queue.claim()) is not None:
        if lease.id == hopeless.id:
            lease.fail("no", retry=False)
        else:
            lease.fail("again")
    letters = {json.loads(letter["Body"])["id"]: letter for letter in dead_letters(sqs_server, f"{name}-grave")}
    assert set(letters) == {hopeless.id, poison.id}
    assert "MessageAttributes" in letters[hopeless.id]
    assert f"{name}-failed" not in str(client.list_queues(QueueNamePrefix=name)["QueueUrls"])


def test_a_task_that_nobody_ends_is_dead_lettered_by_a_claimer(queue: SqsQueue, sqs_server: Server) -> None:
    task = queue.push("kills its workers", max_attempts=1, max_deaths=3)
    for epoch in (1, 2, 3):
        lease = one(queue)
        assert lease.epoch == epoch
        queue.end(queue.handle(lease))
    assert queue.claim() is None
    (letter,) = dead_letters(sqs_server, f"{queue._address.name}-failed")
    assert json.loads(letter["Body"])["id"] == task.id
    assert "given out 3 times" in letter["MessageAttributes"]["dibs-failed"]["StringValue"]


def test_what_others_sent_keeps_its_attributes(queue: SqsQueue, open_sqs: Open, sqs_server: Server) -> None:
    attributes = {
        "kind": {"DataType": "String", "StringValue": "invoice"},
        "blob": {"DataType": "Binary", "BinaryValue": b"\x00\xff"},
    }
    sqs_server.client().send_message(QueueUrl=queue._place.url, MessageBody="text", MessageAttributes=attributes)
    lease = one(queue)
    open_sqs().lease(lease.id, 1).fail("no", retry=False)
    (letter,) = dead_letters(sqs_server, f"{queue._address.name}-failed")
    assert letter["Body"] == "text"
    assert {name: letter["MessageAttributes"][name] for name in attributes} == attributes


def test_a_queue_made_here_keeps_tasks_as_long_as_sqs_can(queue: SqsQueue, sqs_server: Server) -> None:
    queue.push(1)
    client = sqs_server.client()
    for name in (queue._address.name, f"{queue._address.name}-failed"):
        url = client.get_queue_url(QueueName=name)["QueueUrl"]
        found = client.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        assert found["MessageRetentionPeriod"] == str(14 * 86400)


def test_a_missing_dead_letter_queue_keeps_the_task(open_sqs: Open, sqs_server: Server, url: str) -> None:
    queue = open_sqs()
    task = queue.push(1)
    client = sqs_server.client()
    client.delete_queue(QueueUrl=client.get_queue_url(QueueName=f"{queue._address.name}-failed")["QueueUrl"])
    lease = one(queue)
    with pytest.raises(FormatError, match=f"dead-letter queue {queue._address.name}-failed"):
        lease.fail("no", retry=False)
    assert lease.held
    lease.release()
    assert one(queue).id == task.id
