"""`python -m benchmarks.brokers.enqueue NAME PLACE COUNT`: fill one queue, in a process of its own."""

import sys

from benchmarks.brokers import brokers


def main(name: str, place: str, count: str) -> None:
    broker = next(broker for broker in brokers() if broker.name == name)
    broker.enqueue(place, int(count))


if __name__ == "__main__":
    main(*sys.argv[1:])
