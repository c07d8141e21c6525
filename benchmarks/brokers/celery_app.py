"""Celery's side: early acknowledgement, no results, no events, prefetch as large as helps."""

from typing import Any

from celery import Celery

from benchmarks.brokers.broker import redis_url
from benchmarks.brokers.noop import run

app = Celery("bench", broker=redis_url())
app.conf.update(
    task_ignore_result=True,
    worker_prefetch_multiplier=64,
    worker_send_task_events=False,
    broker_connection_retry_on_startup=True,
    task_serializer="json",
)


@app.task(name="noop", ignore_result=True)
def noop(task: Any) -> None:
    run(task)
