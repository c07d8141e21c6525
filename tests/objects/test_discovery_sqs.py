"""A bucket whose ready tasks are named by an SQS queue."""

from collections.abc import Callable

import dibs
from sqs.server import Server, sqs_server

__all__ = ["sqs_server"]

Url = Callable[..., str]


def test_names_come_from_sqs(url: Url, sqs_server: Server) -> None:
    place = url(discover=sqs_server.url(), idle=0.2, upkeep=0.2)
    pushed = {task.id for task in dibs.open(place).push_many(range(12))}
    worker = dibs.open(place)
    done = set()
    while len(done) < len(pushed) and (lease := worker.claim(wait=60.0)) is not None:
        done.add(lease.id)
        lease.complete()
    assert done == pushed
    assert worker.stats().states["completed"] == len(pushed)
