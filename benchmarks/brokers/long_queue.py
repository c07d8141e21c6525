"""What a claim + complete costs on Redis with many tasks waiting and as many completed, against few of both."""

import statistics
import time
from typing import Any

from benchmarks.brokers.ours import redis_queue
from benchmarks.brokers.redis_server import redis_server
from benchmarks.measure import scratch
from benchmarks.plan import Plan
from benchmarks.report import Outcome, Table, at_most, ratio, times

PUSHED_AT_ONCE = 5000
COMPLETED_AT_ONCE = 500
TURN = 100  # claims on one, then on the other
NAME = "dibs on Redis"


def run(plan: Plan, outcome: Outcome) -> None:
    if not plan.wants(NAME):
        return
    import dibs

    sizes = {"few": plan.size.waiting_few, "many": plan.size.waiting_many}
    with redis_server(scratch(plan.folder)) as one, redis_server(scratch(plan.folder)) as other:
        queues = {name: dibs.open(redis_queue(url)) for name, url in (("few", one), ("many", other))}
        for name, queue in queues.items():
            plan.say(f"{sizes[name]:,} tasks waiting on Redis, {sizes[name]:,} completed")
            fill(queue, sizes[name])
        plan.say(f"{plan.size.claims:,} claims on each")
        spent = _claims(queues, plan.size.claims)
        memory = {name: _megabytes(url) for name, url in (("few", one), ("many", other))}
        for queue in queues.values():
            queue.close()
    found = {
        name: {
            "median_us": statistics.median(spent[name]) * 1e6,
            "mean_us": statistics.fmean(spent[name]) * 1e6,
            "server_mb": memory[name],
        }
        for name in sizes
    }
    outcome.data["long"] = found
    outcome.tables.append(_table(sizes, found))
    least = ratio(found["many"]["median_us"], found["few"]["median_us"])
    text = f"claim + complete on Redis, {sizes['many']:,} waiting and completed against {sizes['few']:,}, median"
    outcome.goals.append(at_most(text, least, 1.5))


def fill(queue: Any, count: int) -> None:
    """As many completed as waiting."""
    for _ in range(2):
        for start in range(0, count, PUSHED_AT_ONCE):
            numbers = range(start, min(start + PUSHED_AT_ONCE, count))
            queue.push_many({"n": number, "pad": "x" * 180} for number in numbers)
    done = 0
    while done < count:
        leases = queue.claim_many(min(COMPLETED_AT_ONCE, count - done))
        if not leases or queue.complete_many(leases):
            raise RuntimeError(f"{done} of {count} tasks could be completed")
        done += len(leases)


def _claims(queues: dict[str, Any], claims: int) -> dict[str, list[float]]:
    """Turn by turn, so that a busy moment of the machine meets both; what is used up is replaced, untimed."""
    clock = time.perf_counter
    spent: dict[str, list[float]] = {name: [] for name in queues}
    turn = min(TURN, claims)
    while len(spent["few"]) < claims:
        for name, queue in queues.items():
            for _ in range(turn):
                begun = clock()
                queue.claim().complete()
                spent[name].append(clock() - begun)
            queue.push_many({"n": number, "pad": "x" * 180} for number in range(turn))
    return spent


def _megabytes(url: str) -> float:
    from redis import Redis

    with Redis.from_url(url) as client:
        return float(client.info("memory")["used_memory"]) / 1e6


def _table(sizes: dict[str, int], found: dict[str, dict[str, float]]) -> Table:
    few, many = found["few"], found["many"]
    columns = ["", f"{sizes['few']:,} waiting and completed", f"{sizes['many']:,} waiting and completed", "ratio"]
    table = Table("On Redis with many tasks waiting and completed", columns)
    for title, name in (
        ("claim + complete, median µs", "median_us"),
        ("claim + complete, mean µs", "mean_us"),
        ("memory of the server, MB", "server_mb"),
    ):
        cells = [f"{found[name]:,.1f}" for found in (few, many)]
        table.rows.append([title, *cells, f"{times(ratio(many[name], few[name]))}x"])
    table.notes = [f"in turns of {TURN} claims on one server and on the other"]
    return table
