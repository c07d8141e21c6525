"""push, poll, ack, nack."""

import pytest

from dibs.adapter import Adapter
from dibs.errors import BadInput, LeaseLost
from dibs.queues.queue import Queue
from dibs.states import State


@pytest.fixture
def adapter(queue: Queue) -> Adapter:
    return Adapter(queue, visibility=30)


def test_push_poll_ack(adapter: Adapter, queue: Queue) -> None:
    name = adapter.push({"a": 1}, key="k")
    assert adapter.size() == 1
    message = adapter.poll()
    assert message is not None
    assert (message.id, message.body, message.attempt) == (name, {"a": 1}, 1)
    assert adapter.size() == 0
    assert [claim["id"] for claim in adapter.list_claimed()] == [name]
    adapter.heartbeat(message)
    adapter.ack(message, result="done")
    assert queue.detail(name).result == "done"
    assert adapter.poll() is None


def test_ack_by_receipt_from_another_process(adapter: Adapter, url: str, queue: Queue) -> None:
    name = adapter.push("x")
    message = adapter.poll()
    assert message is not None
    elsewhere = Adapter(url)
    elsewhere.ack(message.receipt)
    assert queue.get(name).state is State.COMPLETED
    elsewhere.close()


def test_ack_after_another_got_it_is_refused(adapter: Adapter, url: str, queue: Queue) -> None:
    adapter.push("x")
    first = adapter.poll()
    assert first is not None
    elsewhere = Adapter(url)
    elsewhere.nack(first.receipt)
    second = elsewhere.poll()
    assert second is not None
    for step in (adapter.ack, adapter.nack, adapter.heartbeat):
        with pytest.raises(LeaseLost):
            step(first.receipt)
    elsewhere.ack(second, result=2)
    assert queue.detail(second.id).result == 2
    elsewhere.close()


def test_nack_brings_it_back_and_counts_only_with_an_error(adapter: Adapter, queue: Queue) -> None:
    name = adapter.push("x", backoff=0)
    for error, attempts in (("", 0), ("bad", 1)):
        message = adapter.poll()
        assert message is not None
        adapter.nack(message, error=error)
        assert queue.get(name).attempts == attempts
    message = adapter.poll()
    assert message is not None
    assert message.attempt == 2
    adapter.nack(message, delay=60)
    assert queue.get(name).state is State.SCHEDULED


def test_nack_without_requeue_dead_letters(adapter: Adapter, queue: Queue) -> None:
    name = adapter.push("x")
    message = adapter.poll()
    assert message is not None
    adapter.nack(message.receipt, requeue=False)
    assert queue.get(name).state is State.FAILED


@pytest.mark.parametrize("receipt", ["", "x", "x:", "x:y", ":1"])
def test_bad_receipt(adapter: Adapter, receipt: str) -> None:
    with pytest.raises(BadInput, match="receipt"):
        adapter.ack(receipt)
