"""Celery, RQ, Dramatiq and huey on Redis, each as its documentation runs it, with what makes it faster."""

from benchmarks.brokers.broker import Broker
from benchmarks.children import script


class CeleryBroker(Broker):
    name = "Celery"
    module = "celery"
    note = (
        "one worker with the solo pool a process, twice as fast here as prefork; acknowledges before it runs a task "
        "(its default): a worker that dies loses what it had fetched"
    )

    def enqueue(self, place: str, count: int) -> None:
        from benchmarks.brokers.celery_app import app, noop

        with app.producer_pool.acquire(block=True) as producer:
            for number in range(count):
                noop.apply_async((number,), producer=producer)

    def commands(self, place: str, processes: int) -> list[list[str]]:
        worker = [script("celery"), "-A", "benchmarks.brokers.celery_app", "worker", "--pool", "solo"]
        quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "ERROR"]
        return [[*worker, *quiet, "--hostname", f"worker{number}@bench"] for number in range(processes)]


class RqBroker(Broker):
    name = "RQ"
    module = "rq"
    limit = 4000
    note = "SimpleWorker, which does not fork for each task (its default does); too slow for 20,000 tasks"

    def enqueue(self, place: str, count: int) -> None:
        from redis import Redis
        from rq import Queue

        queue = Queue("bench", connection=Redis.from_url(place))
        prepare = Queue.prepare_data
        for start in range(0, count, 500):
            queue.enqueue_many(
                [
                    prepare("benchmarks.brokers.noop.note", (number,), result_ttl=0)
                    for number in range(start, min(start + 500, count))
                ]
            )

    def commands(self, place: str, processes: int) -> list[list[str]]:
        worker = [script("rq"), "worker", "-u", place, "-w", "rq.worker.SimpleWorker", "--quiet", "bench"]
        return [worker] * processes


class DramatiqBroker(Broker):
    name = "Dramatiq"
    module = "dramatiq"
    note = "16 threads a process"

    def enqueue(self, place: str, count: int) -> None:
        from benchmarks.brokers.dramatiq_app import noop

        for number in range(count):
            noop.send(number)

    def commands(self, place: str, processes: int) -> list[list[str]]:
        return [[script("dramatiq"), "benchmarks.brokers.dramatiq_app", "-p", str(processes), "-t", "16"]]


class HueyBroker(Broker):
    name = "huey"
    module = "huey"
    note = "takes a task off before it runs it: a worker that dies loses it"

    def enqueue(self, place: str, count: int) -> None:
        from benchmarks.brokers.huey_app import noop

        for number in range(count):
            noop(number)

    def commands(self, place: str, processes: int) -> list[list[str]]:
        app = "benchmarks.brokers.huey_app.huey"
        return [[script("huey_consumer"), app, "-w", str(processes), "-k", "process", "--no-periodic", "--quiet"]]


class DibsBroker(Broker):
    name = "dibs work --call"

    def missing(self) -> str | None:
        try:
            import dibs.queues.files
            import dibs.worker  # noqa: F401
        except ImportError as error:
            return f"dibs cannot be imported: {error}"
        return None

    def enqueue(self, place: str, count: int) -> None:
        import dibs

        with dibs.open(f"file:{place}?sync=off") as queue:
            queue.push_many({"n": number} for number in range(count))

    def commands(self, place: str, processes: int) -> list[list[str]]:
        call = "benchmarks.brokers.noop:run"
        return [[script("dibs"), "work", place, "-j", str(processes), "--call", call, "--until-empty"]]
