"""Answers that are lost, servers that fail: what is tried again, and what must not be."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import dibs
from dibs.errors import LeaseLost, StorageError
from dibs.queues.sqs import SqsQueue
from sqs.conftest import Open
from sqs.relay import Relay, relay
from sqs.server import Server
from sqs.test_leases import one


@pytest.fixture
def path(sqs_server: Server) -> Iterator[Relay]:
    with relay(sqs_server.endpoint) as made:
        yield made


@contextmanager
def through(path: Relay, sqs_server: Server) -> Iterator[SqsQueue]:
    with dibs.open(sqs_server.url(endpoint=path.endpoint)) as queue:
        assert isinstance(queue, SqsQueue)
        yield queue


def test_a_push_whose_answer_was_lost_may_be_there_twice_and_is_one_task(path: Relay, sqs_server: Server) -> None:
    with through(path, sqs_server) as queue:
        path.lose["SendMessageBatch"] = 1
        task = queue.push("once")
        leases = queue.claim_many(10)
        assert path.seen.count("SendMessageBatch") == 2
        assert [(lease.id, lease.epoch) for lease in leases] == [(task.id, 1)], "this host runs it once at a time"


@pytest.mark.parametrize("fault", ["lose", "fail"])
def test_renewing_and_completing_are_tried_again(path: Relay, sqs_server: Server, fault: str) -> None:
    with through(path, sqs_server) as queue:
        queue.push(1)
        lease = one(queue)
        getattr(path, fault).update(ChangeMessageVisibility=2, DeleteMessage=2)
        lease.renew()
        lease.complete()
        assert path.seen.count("DeleteMessage") == 3
        assert queue.stats().total == 0


@pytest.mark.parametrize("how", ["release", "fail"])
def test_giving_back_is_never_sent_twice(path: Relay, sqs_server: Server, open_sqs: Open, how: str) -> None:
    """The first may have worked: then a second would take the task from whoever holds it now."""
    with through(path, sqs_server) as queue:
        task = queue.push(1, backoff=0.0)
        lease = one(queue)
        path.lose["ChangeMessageVisibility"] = 1
        with pytest.raises(LeaseLost, match="did not say"):
            lease.release() if how == "release" else lease.fail("no")
        assert path.seen.count("ChangeMessageVisibility") == 1
        with pytest.raises(LeaseLost):
            lease.release()
        again = one(queue)
        assert (again.id, again.epoch) == (task.id, 2)


def test_a_server_that_keeps_failing_is_an_error_and_the_lease_stays(path: Relay, sqs_server: Server) -> None:
    with through(path, sqs_server) as queue:
        queue.push(1)
        lease = one(queue)
        path.fail["DeleteMessage"] = 4
        with pytest.raises(StorageError, match="SQS failed"):
            lease.complete()
        assert lease.held
        lease.complete()
        assert queue.stats().total == 0


def test_a_step_is_not_tried_again_when_its_time_is_over(path: Relay, sqs_server: Server) -> None:
    with through(path, sqs_server) as queue:
        queue.push(1)
        lease = one(queue, ttl=1)
        path.fail["DeleteMessage"] = 1000
        with pytest.raises((LeaseLost, StorageError)):
            while True:
                begun = queue.clock.boottime()
                try:
                    lease.complete()
                except StorageError:
                    assert begun < lease.deadline and lease.state == "held"
        sent = path.seen.count("DeleteMessage")
        path.fail["DeleteMessage"] = 0
        with pytest.raises(LeaseLost):
            lease.complete()
        assert path.seen.count("DeleteMessage") == sent
        assert one(queue, wait=60).epoch == 2


def test_no_try_is_begun_after_the_deadline(path: Relay, sqs_server: Server) -> None:
    with through(path, sqs_server) as queue:
        path.fail["SendMessage"] = 1000
        until = queue.clock.boottime() + 0.02
        with pytest.raises(LeaseLost):
            queue._service.ask("send_message", before=until, QueueUrl=queue._place.url, MessageBody="late")
        assert path.seen.count("SendMessage") <= 1


def test_a_dead_letter_is_in_both_queues_rather_than_in_none(path: Relay, sqs_server: Server) -> None:
    with through(path, sqs_server) as queue:
        task = queue.push(1)
        lease = one(queue)
        path.fail["DeleteMessage"] = 4
        with pytest.raises(StorageError):
            lease.fail("no", retry=False)
        assert queue.stats().states["failed"] == 1
        lease.release()
        assert one(queue).id == task.id
