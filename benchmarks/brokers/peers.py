"""Celery, RQ, Dramatiq and huey on Redis, each as its documentation runs it, with what makes it faster."""

from typing import Any

from benchmarks.brokers.broker import Broker, Task
from benchmarks.children import script

BATCH = 500


class CeleryBroker(Broker):
    name = "Celery"
    module = "celery"
    limit = 2000
    note = (
        "one worker with the solo pool a process, faster here than prefork or gevent; acknowledges before it runs a "
        "task (its default): a worker that dies loses what it had fetched"
    )

    def open(self, place: str) -> Any:
        from benchmarks.brokers.celery_app import app

        return app

    def push(self, handle: Any, tasks: list[Task]) -> None:
        from benchmarks.brokers.celery_app import noop

        with handle.producer_pool.acquire(block=True) as producer:
            for task in tasks:
                noop.apply_async((task,), producer=producer)

    def commands(self, place: str, processes: int) -> list[list[str]]:
        worker = [script("celery"), "-A", "benchmarks.brokers.celery_app", "worker", "--pool", "solo"]
        quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "ERROR"]
        return [[*worker, *quiet, "--hostname", f"worker{number}@bench"] for number in range(processes)]


class RqBroker(Broker):
    name = "RQ"
    module = "rq"
    limit = 500
    batches = "enqueue_many"
    note = "SimpleWorker, which does not fork for each task (its default does)"

    def open(self, place: str) -> Any:
        from redis import Redis
        from rq import Queue

        return Queue("bench", connection=Redis.from_url(place))

    def push(self, handle: Any, tasks: list[Task]) -> None:
        for task in tasks:
            handle.enqueue("benchmarks.brokers.noop.run", task, result_ttl=0)

    def push_batch(self, handle: Any, tasks: list[Task]) -> None:
        prepare = handle.prepare_data
        for start in range(0, len(tasks), BATCH):
            part = tasks[start : start + BATCH]
            handle.enqueue_many([prepare("benchmarks.brokers.noop.run", (task,), result_ttl=0) for task in part])

    def commands(self, place: str, processes: int) -> list[list[str]]:
        worker = [script("rq"), "worker", "-u", place, "-w", "rq.worker.SimpleWorker", "--quiet", "bench"]
        return [worker] * processes


class DramatiqBroker(Broker):
    name = "Dramatiq"
    module = "dramatiq"
    note = "16 threads a process; faster here than 4, 8 or 32, and than with gevent"

    def open(self, place: str) -> Any:
        from benchmarks.brokers.dramatiq_app import noop

        return noop

    def push(self, handle: Any, tasks: list[Task]) -> None:
        for task in tasks:
            handle.send(task)

    def commands(self, place: str, processes: int) -> list[list[str]]:
        return [[script("dramatiq"), "benchmarks.brokers.dramatiq_app", "-p", str(processes), "-t", "16"]]


class HueyBroker(Broker):
    name = "huey"
    module = "huey"
    note = (
        "4 threads a process, faster here than 16, than its worker processes, and than greenlets; takes a task off "
        "before it runs it: a worker that dies loses it"
    )

    def open(self, place: str) -> Any:
        from benchmarks.brokers.huey_app import noop

        return noop

    def push(self, handle: Any, tasks: list[Task]) -> None:
        for task in tasks:
            handle(task)

    def commands(self, place: str, processes: int) -> list[list[str]]:
        app = "benchmarks.brokers.huey_app.huey"
        return [[script("huey_consumer"), app, "-w", "4", "-k", "thread", "--no-periodic", "--quiet"]] * processes
