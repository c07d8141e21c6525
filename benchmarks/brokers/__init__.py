"""Queues whose own workers drain them: dibs on files, and what people use today on Redis."""

from benchmarks.brokers.broker import Broker
from benchmarks.brokers.peers import CeleryBroker, DibsBroker, DramatiqBroker, HueyBroker, RqBroker

__all__ = ["Broker", "brokers"]


def brokers() -> list[Broker]:
    return [DibsBroker(), CeleryBroker(), RqBroker(), DramatiqBroker(), HueyBroker()]
