"""SQS, and what stands in for it, when many receive at once."""

from itertools import count
from typing import Any

import pytest
from moto.sqs.models import SQSBackend

from dibs.doctor import Level, Verdict, examine
from sqs.server import Server


def test_no_message_is_in_two_hands(sqs_server: Server) -> None:
    report = examine(sqs_server.url(), quick=True)
    found = {one.check: one for one in report.findings}
    assert report.verdict is Verdict.MANY
    assert (found["receivers"].level, found["receivers"].many) == (Level.GOOD, True)
    assert sqs_server.client().list_queues(QueueNamePrefix="dibs-doctor-").get("QueueUrls", []) == []


def test_messages_that_two_are_given_under_contention_are_found(
    sqs_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a stand-in does that looks and marks without a lock: alone one would never notice."""
    receive, calls, last = SQSBackend.receive_message, count(), dict[str, Any]()

    def given_twice(self: Any, queue_name: str, *args: Any, **more: Any) -> Any:
        crowded = len(self.get_queue(queue_name)._messages) > 1
        if crowded and next(calls) % 3 == 2 and queue_name in last:
            return last.pop(queue_name)
        found = receive(self, queue_name, *args, **more)
        if found:
            last[queue_name] = found
        return found

    monkeypatch.setattr(SQSBackend, "receive_message", given_twice)
    report = examine(sqs_server.url(), quick=True)
    found = {one.check: one for one in report.findings}
    assert found["visibility"].level is Level.GOOD
    assert report.verdict is Verdict.UNSAFE
    assert "given out again while in hand" in found["receivers"].happened
    assert report.seconds <= 30
