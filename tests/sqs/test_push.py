"""Push: batches, limits, what is refused, and what others sent."""

from typing import Any

import pytest

from dibs.errors import BadInput, FormatError, StorageError, Unsupported
from dibs.queues.sqs import SqsQueue, sending
from dibs.queues.sqs.messages import body_of
from dibs.task import NewTask
from dibs.values import replace
from sqs.conftest import Open
from sqs.server import Server


def taken(queue: SqsQueue) -> list[Any]:
    return [lease.payload for lease in queue.claim_many(100)]


def test_many_tasks_take_a_request_for_ten(queue: SqsQueue) -> None:
    pushed = queue.push_many({"n": n} for n in range(25))
    assert queue.requests["send_message_batch"] == 3
    leases = queue.claim_many(100)
    assert {lease.id: lease.payload for lease in leases} == {task.id: task.payload for task in pushed}
    assert queue.requests["receive_message"] == 4
    assert queue.complete_many(leases) == []
    assert queue.requests["delete_message_batch"] == 3
    assert queue.stats().total == 0


def test_large_payloads_go_in_smaller_batches(queue: SqsQueue) -> None:
    payloads = [f"{n}" * 100_000 for n in range(5)]
    queue.push_many(payloads)
    assert queue.requests["send_message_batch"] == 3
    assert sorted(taken(queue)) == payloads


@pytest.mark.parametrize(
    "payload",
    [
        None,
        False,
        0,
        "",
        -1.5e300,
        2**80,
        {"a": [1, {"b": None}], "": "é"},
        "世界 🦀\u2028\x00\x1f\x7f\ufffe\uffff\ue000",
    ],
    ids=ascii,
)
def test_a_payload_comes_back_as_it_was(queue: SqsQueue, open_sqs: Open, payload: Any) -> None:
    queue.push(payload)
    (found,) = taken(open_sqs())
    assert (found, type(found)) == (payload, type(payload))


def test_what_sqs_does_not_take_in_a_text_is_escaped(queue: SqsQueue) -> None:
    body = body_of(replace(queue.push("x"), payload="\ufffe é \uffff"))
    assert r'"payload":"\ufffe é \uffff"' in body


def test_the_settings_of_a_task_travel_with_it(queue: SqsQueue) -> None:
    pushed = queue.push(1, max_attempts=7, max_deaths=2, max_runtime=9.5, backoff=4.0, max_backoff=5.0)
    task = queue.claim_many(1)[0].task
    for name in ("id", "max_attempts", "max_deaths", "max_runtime", "backoff", "max_backoff", "pushed_at"):
        assert getattr(task, name) == getattr(pushed, name)


def test_a_delay_of_more_than_fifteen_minutes_is_refused(queue: SqsQueue) -> None:
    assert queue.push("in time", delay=900).state == "scheduled"
    with pytest.raises(Unsupported, match=r"sqs cannot delay .* 15 minutes"):
        queue.push("too late", delay=901)
    with pytest.raises(Unsupported, match="15 minutes"):
        queue.push("too late", at=queue.store_time() + 1000)
    assert {state: count for state, count in queue.stats().states.items() if count} == {"scheduled": 1}


def test_nothing_is_sent_when_one_of_many_is_not_acceptable(queue: SqsQueue) -> None:
    for wrong, error in ((NewTask(payload=1, key="k"), Unsupported), (float("nan"), BadInput), ("x" * 2**20, BadInput)):
        with pytest.raises(error):
            queue.push_many([{"fine": 1}, wrong])
    assert queue.requests["send_message_batch"] == 0


def test_what_the_queue_finds_too_long_is_said_with_what_was_added(queue: SqsQueue, sqs_server: Server) -> None:
    queue.push("first")
    name = queue._address.name
    url = sqs_server.client().get_queue_url(QueueName=name)["QueueUrl"]
    sqs_server.client().set_queue_attributes(QueueUrl=url, Attributes={"MaximumMessageSize": "1024"})
    with pytest.raises(BadInput, match=r"10 of 11 tasks were added, then: .*1024 bytes"):
        queue.push_many([*range(10), "x" * 2000])
    assert queue.stats().states["ready"] == 11


class Choosy:
    """A service that takes only some entries of a batch, as SQS may."""

    def __init__(self, answers: list[set[int]], *, fault: bool) -> None:
        self._answers = answers
        self._fault = fault
        self.sent: list[list[str]] = []

    def ask(self, operation: str, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        self.sent.append([entry["MessageBody"] for entry in Entries])
        refused = self._answers.pop(0)
        return {
            "Successful": [entry for entry in Entries if int(entry["Id"]) not in refused],
            "Failed": [
                {"Id": entry["Id"], "SenderFault": self._fault, "Code": "InternalError"}
                for entry in Entries
                if int(entry["Id"]) in refused
            ],
        }


def test_entries_that_failed_are_sent_again_alone() -> None:
    service = Choosy([{1, 3}, {3}, set()], fault=False)
    sending.send(service, "url", [(f"b{n}", 0) for n in range(4)])  # type: ignore[arg-type]
    assert service.sent == [["b0", "b1", "b2", "b3"], ["b1", "b3"], ["b3"]]


@pytest.mark.parametrize(("fault", "error", "rounds"), [(True, BadInput, 1), (False, StorageError, 4)])
def test_entries_that_keep_failing_are_reported(fault: bool, error: type[Exception], rounds: int) -> None:
    service = Choosy([{1}] * rounds, fault=fault)
    with pytest.raises(error, match="2 of 3 tasks were added"):
        sending.send(service, "url", [(f"b{n}", 0) for n in range(3)])  # type: ignore[arg-type]
    assert len(service.sent) == rounds


@pytest.mark.parametrize(
    ("body", "payload"),
    [
        ('{"n": 1}', {"n": 1}),
        ("plain text", "plain text"),
        ("7", 7),
        ('{"dibs": 1, "id": "../../etc/passwd", "payload": 1}', {"dibs": 1, "id": "../../etc/passwd", "payload": 1}),
        ('{"dibs": 1}', {"dibs": 1}),
        ("{half", "{half"),
    ],
)
def test_what_others_sent_is_a_task_too(queue: SqsQueue, sqs_server: Server, body: str, payload: Any) -> None:
    sent = sqs_server.client().send_message(QueueUrl=queue._place.url, MessageBody=body)
    (lease,) = queue.claim_many(1)
    assert (lease.id, lease.payload, lease.epoch) == (sent["MessageId"], payload, 1)
    lease.complete()
    assert queue.stats().total == 0


def test_a_task_of_a_newer_version_is_not_run(queue: SqsQueue, sqs_server: Server) -> None:
    sqs_server.client().send_message(QueueUrl=queue._place.url, MessageBody='{"dibs": 2, "id": "x", "payload": 1}')
    with pytest.raises(FormatError, match="newer"):
        queue.claim(ttl=1)
    assert queue.stats().states["claimed"] == 1
