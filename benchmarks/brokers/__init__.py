"""Queues whose own workers drain them: dibs on files and on Redis, and what people use today on Redis."""

from benchmarks.brokers.async_peers import ArqBroker, SaqBroker, TaskiqBroker
from benchmarks.brokers.broker import Broker
from benchmarks.brokers.ours import DibsOnFiles, DibsOnRedis
from benchmarks.brokers.peers import CeleryBroker, DramatiqBroker, HueyBroker, RqBroker

__all__ = ["Broker", "brokers"]


def brokers() -> list[Broker]:
    ours = [DibsOnFiles(), DibsOnRedis()]
    peers = [RqBroker(), ArqBroker(), SaqBroker(), DramatiqBroker(), CeleryBroker(), TaskiqBroker(), HueyBroker()]
    return [*ours, *peers]
