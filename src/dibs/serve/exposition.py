"""`/metrics`: what was counted, and a look at each queue, as Prometheus reads it. Many who ask within some seconds cost
one look; a queue that does not answer in time is said to be down and holds up no other.
"""

import asyncio
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from dibs.errors import DibsError, MissingExtra, Unsupported
from dibs.queues.queue import Queue
from dibs.serve.counter import Counter
from dibs.serve.house import House
from dibs.serve.metrics import BUCKETS, METRICS, Labels
from dibs.serve.refusal import Refusal
from dibs.serve.reply import Reply, Send
from dibs.serve.request import Request
from dibs.stores.meter import Meter

FRESH_SECONDS = 5.0
ANSWER_SECONDS = 10.0
_OLDEST_OF = 200
Gauges = dict[str, dict[Labels, float]]


class Look(NamedTuple):
    at: float
    gauges: Gauges


async def metrics(house: House, request: Request, send: Send) -> Reply:
    gauges = await asyncio.gather(*(_looked(house, counter) for counter in house.counters.values()))
    gauges += [_down(name) for name in house.absent]
    for name, counter in house.counters.items():
        for kind, number in asked_of(counter.desk.queue).items():
            house.metrics.counts["dibs_store_requests_total"][name, kind] = number
    text, kind = _written(house, gauges)
    return Reply(200, text, kind)


async def _looked(house: House, counter: Counter) -> Gauges:
    looks: dict[str, Look] = house.seen.setdefault("looks", {})
    name = counter.desk.name
    last = looks.get(name)
    if last is None or house.clock.boottime() - last.at > FRESH_SECONDS:
        gauges = _down(name)
        try:
            if counter.health.why:
                raise counter.health.refusal()
            async with asyncio.timeout(ANSWER_SECONDS):
                gauges = await counter.run(_look, counter)
        except (DibsError, Refusal, TimeoutError):
            pass
        last = looks[name] = Look(house.clock.boottime(), gauges)
    now: dict[str, dict[Labels, float]] = {
        "dibs_sessions": {(name,): counter.sessions.connected},
        "dibs_waiting_claims": {(name,): len(counter.waiting)},
    }
    return last.gauges | now


def asked_of(queue: Queue) -> dict[str, int]:
    """What this daemon has asked of the store behind, where that is counted: buckets by kind, Redis by commands."""
    meter: Meter | None = getattr(queue, "meter", None)
    if meter is not None:
        return meter.counts
    commands: int | None = getattr(getattr(queue, "_server", None), "asked", None)
    return {} if commands is None else {"command": commands}


def _down(name: str) -> Gauges:
    return {"dibs_queue_up": {(name,): 0.0}}


def _look(counter: Counter) -> Gauges:
    """In a thread."""
    name, queue = counter.desk.name, counter.desk.queue
    stats = counter.desk.look.stats()
    found: Gauges = {
        "dibs_queue_up": {(name,): 1.0},
        "dibs_tasks": {(name, state): number for state, number in stats.states.items()},
        "dibs_workers": {(name,): stats.workers},
        "dibs_paused": {(name,): float(stats.paused is not None)},
    }
    try:
        claims = counter.desk.look.claimed()
        ready = list(islice(counter.desk.look.tasks("ready"), _OLDEST_OF))
    except Unsupported:
        return found
    now = queue.store_time()
    since = [at for task in ready if (at := task.not_before or task.pushed_at)]  # a spec does not say when it came
    if since or not ready:
        found["dibs_oldest_ready_seconds"] = {(name,): now - min(since, default=now)}
    wall = queue.clock.wall()
    lag = max((wall - claim.heartbeat_at for claim in claims), default=0.0)
    found["dibs_heartbeat_lag_seconds"] = {(name,): max(lag, 0.0)}
    return found


def _written(house: House, gauges: list[Gauges]) -> tuple[bytes, str]:
    try:
        from prometheus_client import CollectorRegistry, generate_latest
        from prometheus_client.exposition import CONTENT_TYPE_LATEST
    except ImportError:
        raise MissingExtra(
            "/metrics needs prometheus-client, which is not installed; pip install 'dibs[serve]'"
        ) from None
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Families(house, gauges))
    return generate_latest(registry), CONTENT_TYPE_LATEST


class _Families:
    def __init__(self, house: House, gauges: list[Gauges]) -> None:
        self._house = house
        self._gauges = gauges

    def collect(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        counted = self._house.metrics
        for name, (kind, labels, what) in METRICS.items():
            if kind == "histogram":
                spans = HistogramMetricFamily(name, what, labels=labels)
                for values, span in counted.spans[name].items():
                    spans.add_metric(values, list(_buckets(span.counts)), span.total)
                yield spans
                continue
            if kind == "counter":
                family: Any = CounterMetricFamily(name, what, labels=labels)
                known: Iterable[tuple[Labels, float]] = counted.counts[name].items()
            else:
                family = GaugeMetricFamily(name, what, labels=labels)
                known = [pair for one in self._gauges for pair in one.get(name, {}).items()]
            for values, number in known:
                family.add_metric(values, number)
            yield family


def _buckets(counts: list[int]) -> Iterator[tuple[str, float]]:
    total = 0
    for limit, number in zip((*map(str, BUCKETS), "+Inf"), counts, strict=True):
        total += number
        yield limit, float(total)
