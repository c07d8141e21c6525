"""What an idle worker asks of Redis: the commands that it sends in a while, counted by the server."""

import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from benchmarks.brokers import notes
from benchmarks.brokers.broker import REDIS_URL, Broker
from benchmarks.brokers.drain import DEADLINE_SECONDS, end, enqueue, start, trouble
from benchmarks.brokers.noop import FOLDER
from benchmarks.brokers.redis_server import redis_server
from benchmarks.children import environment
from benchmarks.measure import scratch
from benchmarks.plan import Plan
from benchmarks.report import Outcome, Table, at_most

TASKS = 4
SETTLE_SECONDS = 2.0
WANTED = 10.0


@dataclass
class Idle:
    """What one worker process sent, by command; and all that the server ran for it, inside scripts too."""

    sent: dict[str, int] = field(default_factory=dict)
    ran: int = 0


def run(plan: Plan, outcome: Outcome, chosen: list[Broker]) -> None:
    """All at once, each on a server of its own: they are idle."""
    found: dict[str, Idle] = {}
    seconds = plan.size.idle_seconds
    with ExitStack() as stack:
        urls: dict[str, str] = {}
        for broker in chosen:
            plan.say(f"an idle worker: {broker.name}")
            try:
                urls[broker.name] = _begin(broker, scratch(plan.folder), stack)
            except RuntimeError as error:
                (outcome.faults if broker.ours else outcome.missing).append(f"{broker.name}, idle: {error}")
        time.sleep(min(SETTLE_SECONDS, seconds))
        plan.say(f"counting for {seconds} s")
        threads = [threading.Thread(target=_count, args=(name, url, seconds, found)) for name, url in urls.items()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    outcome.tables.append(_table(found, seconds))
    for broker in chosen:
        if broker.ours:
            idle = found.get(broker.name)
            value = sum(idle.sent.values()) * 60 / seconds if idle else None
            outcome.goals.append(at_most("commands a minute of an idle worker on Redis", value, WANTED, ""))
    outcome.data["idle"] = {name: {"sent": idle.sent, "ran": idle.ran} for name, idle in found.items()}


def _begin(broker: Broker, path: str, stack: ExitStack) -> str:
    """A worker that has run a few tasks and has no more."""
    url = stack.enter_context(redis_server(path))
    noted, log = f"{path}/notes", f"{path}/worker.log"
    notes.prepare(noted, TASKS)
    surroundings = environment(**{FOLDER: noted, REDIS_URL: url})
    enqueue(broker, url, TASKS, surroundings)
    commands = [[word for word in command if word != "--until-empty"] for command in broker.commands(url, 1)]
    workers = start(commands, surroundings, log)
    for worker in workers:
        stack.callback(end, worker)
    notes.wait(noted, TASKS, lambda: trouble(workers, log), DEADLINE_SECONDS)
    return url


def _count(name: str, url: str, seconds: float, found: dict[str, Idle]) -> None:
    from redis import Redis

    client, listener = Redis.from_url(url), Redis.from_url(url, socket_timeout=None)
    before = _calls(client)
    found[name] = idle = Idle()
    with listener.monitor() as monitor:
        timer = threading.Timer(seconds, client.echo, ["over"])
        timer.start()
        for entry in monitor.listen():
            command = str(entry["command"]).split()[0].upper()
            if command == "ECHO":
                break
            if entry["client_type"] != "lua":
                idle.sent[command] = idle.sent.get(command, 0) + 1
    after = _calls(client)
    idle.ran = sum(after.values()) - sum(before.values())


def _calls(client: Any) -> dict[str, int]:
    """Without what this count itself asks."""
    stats = client.info("commandstats")
    own = ("cmdstat_info", "cmdstat_monitor", "cmdstat_echo", "cmdstat_client", "cmdstat_hello")
    return {name: int(entry["calls"]) for name, entry in stats.items() if not name.startswith(own)}


def _table(found: dict[str, Idle], seconds: float) -> Table:
    table = Table(
        f"One idle worker on Redis, {seconds:g} s, a minute", ["", "commands sent", "run by the server", "which"]
    )
    for name, idle in found.items():
        sent, ran = (number * 60 / seconds for number in (sum(idle.sent.values()), idle.ran))
        most = sorted(idle.sent, key=lambda command: -idle.sent[command])[:3]
        table.rows.append([name, f"{sent:,.0f}", f"{ran:,.0f}", ", ".join(most).lower() or "none"])
    table.notes = ["one process of each, after its last task; run by the server: with what scripts call"]
    return table
