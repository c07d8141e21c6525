"""How far a worker has come, by its board and by the queue."""

import pytest

from dibs.queues.queue import Queue
from dibs.worker import progress
from dibs.worker.job import Job
from dibs.worker.supervisor import Supervisor
from waiting import until


def test_what_another_finishes_is_left_no_more(
    url: str, queue: Queue, other: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_FIRST_STATS_SECONDS", 0.01)
    monkeypatch.setattr(progress, "_STATS_SECONDS", 0.01)
    queue.push("one")
    lease = other.claim(ttl=60)
    assert lease is not None
    supervisor = Supervisor(Job(url=url, call="a:b"), queue)  # it has nothing to do
    try:
        shown = progress.Progress(supervisor, look_ahead=True)
        until(lambda: shown.snapshot().left, "the first look", equals=1)
        lease.complete()
        until(lambda: shown.snapshot().left, "a look after the other has finished", equals=0)
    finally:
        supervisor.ended.set()
