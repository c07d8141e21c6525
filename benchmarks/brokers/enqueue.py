"""`python -m benchmarks.brokers.enqueue NAME PLACE COUNT`: fill one queue, in a process of its own.

Half of the tasks one at a time, half in batches if it has a way to do so; prints, as JSON, how many a second each way.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.brokers import brokers
from benchmarks.brokers.broker import Task
from benchmarks.payloads import payloads

FIRST = 20


def main(name: str, place: str, count: str) -> None:
    broker = next(broker for broker in brokers() if broker.name == name)
    tasks = [json.loads(data) for data in payloads(int(count))]
    handle = broker.open(place)
    ways = {"one": broker.push, "batch": broker.push_batch} if broker.batches else {"one": broker.push}
    share = len(tasks) // len(ways)
    found = {}
    for number, (way, push) in enumerate(ways.items()):
        part = tasks[number * share : (number + 1) * share]
        found[way] = _rate(push, handle, part)
    broker.push(handle, tasks[len(ways) * share :])
    json.dump(found, sys.stdout)


def _rate(push: Callable[[Any, list[Task]], None], handle: Any, tasks: list[Task]) -> float:
    """The first few, which make it connect, are not timed."""
    first = min(FIRST, len(tasks) // 2)
    push(handle, tasks[:first])
    begun = time.perf_counter()
    push(handle, tasks[first:])
    return (len(tasks) - first) / (time.perf_counter() - begun)


if __name__ == "__main__":
    main(*sys.argv[1:])
