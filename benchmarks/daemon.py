"""The daemon: lists from what it remembers beside lists from files read anew, how soon a change is seen, what it keeps;
and, from `daemon_http`, claims and completions over HTTP.

What the daemon takes for an answer is its processor time (the machine may be busy with other things); how much faster a
list is, is judged by the time that its client waits, connection and all, against a process that opens the queue and
lists it with nothing remembered.
"""

import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks import daemon_http
from benchmarks.children import environment
from benchmarks.daemon_http import _SERVE, _processor_seconds
from benchmarks.measure import settle
from benchmarks.plan import Plan
from benchmarks.report import Outcome, Table, at_least, at_most
from benchmarks.specs import _apart
from benchmarks.specs_folder import fill

MOST_TASKS = 100_000
ASKED = 60  # answers for one figure
CHANGES = 20
READY, FIRST = "what is ready of {:,} specs, 100 shown", "the first 50 of {:,} tasks"


class Served(http.client.HTTPConnection):
    """One kept connection to a daemon's Unix socket."""

    def __init__(self, path: str, pid: int) -> None:
        super().__init__("localhost", timeout=120)
        self._path = path
        self.pid = pid

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self._path)

    def ask(self, path: str) -> Any:
        self.request("GET", f"/v1/queues/{path}")
        return json.loads(self.getresponse().read())


def run(plan: Plan) -> Outcome:
    outcome = Outcome("daemon")
    place = os.path.abspath(tempfile.mkdtemp(prefix="daemon-", dir=plan.folder))
    specs, tasks = plan.size.spec_files, min(plan.size.waiting_many, MOST_TASKS)
    plan.say(f"writing {specs:,} specs and {tasks:,} tasks")
    fill(f"{place}/.dibs/specs", specs)
    _push(f"file:{place}/q?sync=off", tasks)
    settle(specs + tasks)
    time.sleep(0.3)  # what has just been written is not trusted to a cache
    try:
        with serving(place) as served:
            _lists(plan, outcome, served, place, specs, tasks)
            _changes(outcome, served, f"{place}/.dibs/specs", specs)
        kept = _apart(lambda: _kept(f"specs:{place}/.dibs/specs"))[0] / specs
    except (OSError, RuntimeError, ValueError, LookupError, http.client.HTTPException) as error:
        outcome.faults.append(f"lists through a daemon: {type(error).__name__}: {error}")
        return outcome
    outcome.data["bytes a spec"] = kept
    outcome.tables[-1].rows.append(["bytes remembered of a spec", f"{kept:,.0f}"])
    outcome.goals.append(at_most("bytes remembered of a spec", kept, 1500, " bytes"))
    _add(outcome, daemon_http.run(plan))
    return outcome


def _add(outcome: Outcome, other: Outcome) -> None:
    outcome.tables += other.tables
    outcome.goals += other.goals
    outcome.faults += other.faults
    outcome.missing += other.missing
    outcome.data |= other.data


@contextmanager
def serving(place: str) -> Iterator[Served]:
    """A daemon over the specs and the queue of `place`."""
    clean = {name: value for name, value in environment().items() if not name.startswith("DIBS_")}
    words = ["serve", f"specs:{place}/.dibs/specs", f"file:{place}/q?sync=off", "--listen", "127.0.0.1:0", "--json"]
    daemon = subprocess.Popen(
        [sys.executable, "-c", _SERVE, *words, "--token", f"{place}/token", "--socket", f"{place}/s"],
        stdout=subprocess.PIPE, text=True, env={**clean, "XDG_CACHE_HOME": f"{place}/cache"}, cwd=place,
    )  # fmt: skip
    try:
        assert daemon.stdout is not None
        daemon.stdout.readline()
        yield Served(f"{place}/s", daemon.pid)
    finally:
        daemon.terminate()
        daemon.communicate(timeout=120)


def _push(url: str, count: int) -> None:
    import dibs

    with dibs.open(url) as queue:
        queue.push_many({"n": number, "url": f"https://example.com/{number}"} for number in range(count))


def _lists(plan: Plan, outcome: Outcome, served: Served, place: str, specs: int, tasks: int) -> None:
    asked: dict[str, tuple[str, Callable[[], Any]]] = {
        READY.format(specs): (
            "specs/tasks?state=ready&limit=100&page=100",
            lambda: _cold(f"specs:{place}/.dibs/specs", "ready", 100),
        ),
        FIRST.format(tasks): ("q/tasks?limit=50&page=50", lambda: _cold(f"file:{place}/q?sync=off", None, 50)),
    }
    for query in ("specs/search?q=ready:true", "q/search?q=example"):
        while "found" not in served.ask(query):  # so that no index is in the making while lists are timed
            plan.say("the index is being made")
    table = Table(
        "A list through the daemon, ms", ["", "client waits", "daemon's processor", "files read anew", "times faster"]
    )
    for name, (path, cold) in asked.items():
        waits, spent, anew = [], [], []
        for number in range(plan.rounds):
            plan.say(f"round {number + 1} of {plan.rounds}: {name}")
            anew.append(_apart(cold)[1])
            used, mine = _processor_seconds(served.pid), []
            for _ in range(ASKED):
                begun = time.perf_counter()
                shown = len(served.ask(path)["tasks"])
                mine.append(time.perf_counter() - begun)
            if not shown:
                raise RuntimeError(f"{name}: nothing was listed")
            waits.append(statistics.median(mine))
            spent.append((_processor_seconds(served.pid) - used) / ASKED)
        faster = statistics.median(one / other for one, other in zip(anew, waits, strict=True))
        medians = [statistics.median(values) * 1000 for values in (waits, spent, anew)]
        table.rows.append([name, *(f"{value:.2f}" for value in medians), f"{faster:.0f}x"])
        outcome.data[name] = {"waits": waits, "processor": spent, "anew": anew, "faster": faster}
        outcome.goals += [
            at_least(f"{name}: against files read anew", faster, 20),
            at_most(f"{name}: the daemon's time", medians[1], 5, " ms"),
        ]
    table.notes = ["files read anew: by a process that has imported everything and remembers nothing of the queue"]
    outcome.tables.append(table)


def _cold(url: str, state: str | None, limit: int) -> int:
    import dibs

    with tempfile.TemporaryDirectory(prefix="cold-") as nothing:
        os.environ["XDG_CACHE_HOME"] = nothing
        with dibs.open(url) as queue:
            return len([task.to_json() for task in queue.tasks(state, limit=limit)])


def _changes(outcome: Outcome, served: Served, folder: str, specs: int) -> None:
    """Files written in place, as some editors do: one after another, then all at once."""
    ready = [task["id"] for task in served.ask(f"specs/tasks?state=ready&page={CHANGES}")["tasks"]]
    seen = [_until_first(served, folder, name, 5000 + number) for number, name in enumerate(ready)]
    names = sorted(os.listdir(folder))
    begun = time.perf_counter()
    for name in names:
        _set_priority(f"{folder}/{name}", 3000)
    wrote = time.perf_counter()
    while True:
        counts = served.ask("specs/stats")["priorities"].get("3000", {})
        if sum(counts.values()) == specs:
            break
        if time.perf_counter() - wrote > 60:
            raise RuntimeError(f"of {specs} files changed at once {counts} are seen after a minute")
    burst = time.perf_counter() - wrote
    median = statistics.median(seen) * 1000
    table = Table("Changes of spec files", ["", ""])
    table.rows = [
        ["a file written in place is in the answers after, ms (median)", f"{median:.0f}"],
        ["the same, longest", f"{max(seen) * 1000:.0f}"],
        [f"{specs:,} files written in place in {wrote - begun:.1f} s: all seen after, ms", f"{burst * 1000:.0f}"],
    ]
    outcome.tables.append(table)
    outcome.data["changes"] = {"seen": seen, "burst": burst}
    outcome.goals.append(at_most("a changed file is in the answers, median", median, 100, " ms"))


def _until_first(served: Served, folder: str, name: str, priority: int) -> float:
    """Seconds until a spec with a new highest priority is the first that is ready."""
    _set_priority(f"{folder}/{name}.md", priority)
    begun = time.perf_counter()
    while served.ask("specs/tasks?state=ready&page=1")["tasks"][0]["id"] != name:
        if time.perf_counter() - begun > 60:
            raise RuntimeError(f"a change of {name} is not seen after a minute")
    return time.perf_counter() - begun


def _set_priority(path: str, priority: int) -> None:
    with open(path, "r+", encoding="utf-8") as file:
        lines = file.read().split("\n")
        lines = [f"priority: {priority}" if line.startswith("priority:") else line for line in lines]
        file.seek(0)
        file.write("\n".join(lines))
        file.truncate()


def _kept(url: str) -> int:
    """Bytes that are remembered of a folder of specs once it was listed and counted."""
    import dibs
    from dibs.serve.cache.looking import looking
    from dibs.serve.cache.specs import KnownSpecs
    from dibs.specs import fields, reading  # noqa: F401  (not a part of what is remembered)

    with dibs.open(url, pid=None) as queue:
        tracemalloc.start()
        look = looking(queue)
        assert isinstance(look, KnownSpecs)
        list(look.tasks("ready", limit=100))
        look.stats()
        return tracemalloc.get_traced_memory()[0]
