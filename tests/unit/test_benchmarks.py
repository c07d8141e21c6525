"""The benchmarks run, and what they say can be trusted: doubled, lost and missing are seen. No speed is judged here."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from benchmarks import postgres
from benchmarks.brokers import Broker, noop, notes, redis_server, working
from benchmarks.brokers.ours import DibsOnFiles, DibsOnRedis
from benchmarks.brokers.peers import CeleryBroker, HueyBroker
from benchmarks.brokers.working import Found
from benchmarks.contenders import Contender
from benchmarks.document import BEGIN, END, PART, write_document
from benchmarks.measure import Series, drain
from benchmarks.postgres import drain as postgres_drain
from benchmarks.postgres import server as postgres_server
from benchmarks.postgres import tables as postgres_tables
from benchmarks.report import Goal, Outcome, Table, above, at_least, at_most, goals_table

from waiting import LONG_PATIENCE

ROOT = Path(__file__).parents[2]


def run(tmp_path: Path, *arguments: str) -> dict[str, Any]:
    out = tmp_path / "found.json"
    command = [
        sys.executable,
        "-m",
        "benchmarks",
        "--size",
        "tiny",
        "--dir",
        str(tmp_path / "disk"),
        "--json",
        str(out),
    ]
    done = subprocess.run([*command, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=LONG_PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert os.listdir(tmp_path / "disk") == []
    found: dict[str, Any] = json.loads(out.read_text())
    for outcome in found["outcomes"]:
        assert outcome["faults"] == []
        for line in outcome["missing"]:
            assert f"MISSING: {line}" in done.stdout
    return found


def test_drain_and_push_run_with_every_contender(tmp_path: Path) -> None:
    drained, pushed = run(tmp_path, "--only", "drain", "--only", "push")["outcomes"]
    for name in ("floor/1", "floor/4", "dibs/1", "dibs/4", "dibs, batches of 100/4", "SQLite WAL NORMAL/4"):
        series = drained["data"][name]
        assert series["median"] > 0 and series["doubled"] == series["lost"] == 0, name
    for contender in ("dirq", "persist-queue", "litequeue", "huey"):
        there = any(name.startswith(contender) for name in drained["data"])
        assert there or any(line.startswith(contender) for line in drained["missing"]), contender
    assert all(goal["met"] is not None or goal["found"] == "not measured" for goal in drained["goals"])
    assert pushed["data"]["Push, on disk when it returns/dibs"]["median"] > 0


def test_scale_and_cli_run(tmp_path: Path) -> None:
    scaled, commands = run(tmp_path, "--only", "scale", "--only", "cli")["outcomes"]
    assert scaled["data"]["many"]["median_us"] > 0
    assert scaled["data"]["many"]["peak_mb"] > 5
    assert len(commands["data"]["dibs claim"]["rounds"]) == 2
    assert all(goal["met"] is not None for goal in scaled["goals"] + commands["goals"])


def test_specs_are_listed_beside_the_floor(tmp_path: Path) -> None:
    (found,) = run(tmp_path, "--only", "specs")["outcomes"]
    for name in ("read every file", "cold", "stat every file", "warm", "dibs specs list --ready"):
        assert found["data"][name]["median"] > 0, name
    assert [goal["met"] is not None for goal in found["goals"]] == [True] * 4


def test_dibs_work_runs_beside_the_queues_on_redis(tmp_path: Path) -> None:
    (drained,) = run(tmp_path, "--only", "redis", "--contender", "dibs")["outcomes"]
    series = drained["data"]["dibs work --call"]
    assert series["median"] > 0 and series["doubled"] == series["lost"] == 0


def test_dibs_on_redis_runs_beside_a_raw_queue(tmp_path: Path) -> None:
    (found,) = run(tmp_path, "--only", "redis", "--contender", "on Redis", "--contender", "raw Lua")["outcomes"]
    data = found["data"]
    worked = data["dibs work --call, on Redis"]
    assert worked["median"] > 0 and worked["doubled"] == worked["lost"] == 0
    assert worked["enqueued"]["one"]["median"] > 0 and worked["enqueued"]["batch"]["median"] > 0
    ways = ("two round trips", "one round trip", "batches of 100")
    names = {
        f"{name}, {way}/{processes}" for name in ("raw Lua", "dibs on Redis") for way in ways for processes in (1, 4)
    }
    assert set(data["loops"]) == names
    for name, series in data["loops"].items():
        assert series["median"] > 0 and series["doubled"] == series["lost"] == 0, name
    assert data["long"]["many"]["median_us"] > 0
    assert set(data["idle"]) == {"dibs work --call, on Redis"}
    judged = [goal for goal in found["goals"] if "peer" not in goal["text"] and "best of" not in goal["text"]]
    assert len(judged) == 8 and all(goal["met"] is not None for goal in judged)


def worked(broker: Broker, rates: dict[int, float], enqueued: float = 1.0, **faults: int) -> Found:
    found = Found(broker, {processes: Series([rate], **faults) for processes, rate in rates.items()})
    for series in found.enqueued.values():
        series.values.append(enqueued)
    return found


def test_workers_are_judged_at_their_best_against_the_fastest_peer() -> None:
    files, ours, celery, huey = DibsOnFiles(), DibsOnRedis(), CeleryBroker(), HueyBroker()
    results = {
        files.name: worked(files, {1: 900.0}),
        ours.name: worked(ours, {1: 30.0, 2: 250.0, 4: 100.0}, 60.0),
        celery.name: worked(celery, {1: 10.0, 2: 20.0, 4: 30.0}, 80.0),
        huey.name: worked(huey, {1: 10.0, 2: 200.0, 4: 30.0}, 30.0),
    }
    assert results[ours.name].best == 2
    on_files, one, best, drained = working.judge(results)
    assert (on_files.found, on_files.met) == ("4.50x", True)
    assert (one.found, one.met, "(Celery)" in one.text) == ("0.75x", False, True)
    assert (best.found, best.met, "(Celery)" in best.text) == ("0.75x", False, True)
    assert (drained.found, drained.met, "(huey)" in drained.text) == ("1.25x", True, True)


def test_a_run_stays_on_the_server_it_began_with(monkeypatch: pytest.MonkeyPatch) -> None:
    redis_server.executable.cache_clear()
    began = redis_server.executable()
    monkeypatch.setattr(redis_server.shutil, "which", lambda name: "/elsewhere/redis-server")
    assert redis_server.executable() == began


def test_only_our_own_faults_are_faults() -> None:
    outcome = Outcome("redis")
    working.check(worked(HueyBroker(), {2: 1.0}, lost=3), outcome)
    working.check(worked(DibsOnRedis(), {4: 1.0}, doubled=2), outcome)
    assert outcome.missing == ["huey, 2 processes: 0 ran twice, 3 were lost"]
    assert outcome.faults == ["dibs work --call, on Redis, 4 processes: 2 ran twice, 0 were lost"]


def test_buckets_run_with_every_contender(tmp_path: Path) -> None:
    (found,) = run(tmp_path, "--only", "bucket")["outcomes"]
    assert found["missing"] == []
    for name in ("obstore, put put get put/1", "dibs/1", "dibs/16", "dibs, batches of 100/16"):
        series = found["data"][name]
        assert series["median"] > 0 and series["doubled"] == series["lost"] == 0, name
    assert found["data"]["dibs work --call"]["lost"] == 0
    assert found["data"]["boto3, the same protocol/16"]["requests_per_task"]["put"] == 3
    assert all(goal["met"] is not None for goal in found["goals"])


def test_dibs_on_postgres_runs_beside_the_raw_loop(tmp_path: Path) -> None:
    (found,) = run(tmp_path, "--only", "postgres", "--contender", "dibs", "--contender", "raw loop")["outcomes"]
    data = found["data"]
    raw = [f"psycopg, raw loop{way}" for way in ("", ", one statement a task", ", batches of 100")]
    ours = ["dibs", "dibs, complete_and_claim", "dibs, batches of 100", "dibs work --call --batch"]
    names = [*raw, *ours]
    assert set(data["drains"]) == {f"{name}/{processes}" for name in names for processes in (1, 4)}
    for name, series in data["drains"].items():
        assert series["median"] > 0 and series["doubled"] == series["lost"] == 0, name
    assert set(data["pushes"]) == {
        f"{name}/{batch}" for name in ("psycopg, raw loop", "dibs") for batch in (1, 100, 1000)
    }
    assert all(series["median"] > 0 for series in data["pushes"].values())
    assert [set(figures) for figures in data["claims"].values()] == [{"few", "waiting", "completed"}] * 2
    assert set(data["idle"]) == {"dibs work --call --batch"}
    judged = [goal for goal in found["goals"] if not re.search("Procrastinate|PgQueuer|oban", goal["text"])]
    assert len(judged) == 15 and all(goal["met"] is not None for goal in judged)


class Unfinishing(postgres.Floor):
    """Runs every task, and leaves them claimed."""

    def work(self, url: str, setting: int) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            for (payload,) in connection.execute("UPDATE tasks SET state = 1 RETURNING payload").fetchall():
                self.ran(json.loads(payload))

    def ran(self, payload: Any) -> None:
        noop.run(payload)


class Repeating(Unfinishing):
    """Runs one task twice, and finishes all."""

    def ran(self, payload: Any) -> None:
        noop.run(payload)
        if payload["n"] == 3:
            noop.run(payload)

    def work(self, url: str, setting: int) -> None:
        super().work(url, setting)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("UPDATE tasks SET state = 2")


class Forgetting(Unfinishing):
    def ran(self, payload: Any) -> None:
        if payload["n"] != 3:
            noop.run(payload)


def test_on_postgres_what_ran_twice_or_never_or_was_not_finished_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with postgres_server.serving(str(tmp_path)) as server:
        bench = postgres_drain.Bench(server, str(tmp_path))
        fair = bench.drain(postgres.Floor(), 20, 2, 1)
        assert (fair.count, fair.doubled, fair.lost) == (20, 0, 0)
        assert bench.drain(Repeating(), 20, 1, 1).doubled == 1
        with pytest.raises(RuntimeError, match="19 of 20 tasks ran"):
            bench.drain(Forgetting(), 20, 1, 1)
        monkeypatch.setattr(postgres_drain, "FINISH_SECONDS", 0)
        with pytest.raises(RuntimeError, match="all tasks ran, but 20 were not finished"):
            bench.drain(Unfinishing(), 20, 1, 1)
        server.log_statements("bench_raw", on=True)
        server.execute("SELECT 1")
        assert server.statements("bench_raw") == 0
        with psycopg.connect(server.url("bench_raw"), autocommit=True) as connection:
            connection.execute("SELECT 1")
            connection.execute("SELECT %s", (1,))
        assert server.statements("bench_raw") == 2


def test_queues_on_postgres_are_judged_by_the_ratios_of_the_rounds() -> None:
    results = {
        ("dibs", 1): Series([100.0, 10.0, 30.0]),
        ("dibs work --call --batch", 1): Series([50.0, 5.0, 15.0]),
        ("dibs, batches of 100", 1): Series([700.0, 70.0, 210.0]),
        ("psycopg, raw loop", 1): Series([125.0, 12.5, 60.0]),
        ("Procrastinate", 1): Series([50.0, 20.0, 20.0]),
        ("PgQueuer", 1): Series([1000.0, 35.0, 300.0]),
    }
    judged = {goal.text: (goal.found, goal.met) for goal in postgres_tables.goals(postgres.contenders(), results)}
    assert judged["postgres, 1 process, dibs, against the psycopg, raw loop"] == ("0.80x", True)
    assert judged["postgres, 1 process, dibs, against Procrastinate"] == ("1.50x", True)
    assert judged["postgres, 1 process, dibs work --call --batch, against Procrastinate"] == ("0.75x", False)
    assert judged["postgres, 1 process, dibs, batches of 100, against PgQueuer"] == ("0.70x", False)
    assert judged["postgres, 4 processes, dibs, batches of 100, against oban"] == ("not measured", None)


def test_on_postgres_only_our_own_faults_are_faults() -> None:
    outcome = Outcome("postgres")
    drains = {("PgQueuer", 4): Series([1.0], lost=3), ("dibs", 1): Series([1.0], doubled=2)}
    postgres_tables.check(postgres.contenders(), drains, {("oban", 100): Series(error="no room")}, outcome)
    assert outcome.faults == ["postgres: dibs, 1 processes: 2 tasks ran twice, 0 were lost"]
    assert outcome.missing == [
        "postgres: PgQueuer, 4 processes: 0 tasks ran twice, 3 were lost",
        "postgres: oban, pushing 100 at once: no room",
    ]


class Numbers(Contender):
    """Hands out each number once, every process its own share."""

    name = "numbers"
    drain_durability = "none"

    def fill(self, folder: str, payloads: list[bytes]) -> None:
        Path(folder, "tasks").write_bytes(b"\n".join(payloads))

    def open(self, folder: str, rank: int = 0, ranks: int = 1) -> list[bytes]:
        return Path(folder, "tasks").read_bytes().splitlines()[rank::ranks]

    def drain(self, handle: list[bytes]) -> Iterator[bytes]:
        yield from handle


class Doubling(Numbers):
    def drain(self, handle: list[bytes]) -> Iterator[bytes]:
        yield from [*handle, handle[3]]


class Losing(Numbers):
    def drain(self, handle: list[bytes]) -> Iterator[bytes]:
        yield from handle[5:]


class Breaking(Numbers):
    def drain(self, handle: list[bytes]) -> Iterator[bytes]:
        raise ValueError("no such thing")


class Absent(Numbers):
    module = "no_such_module_anywhere"


def test_a_drain_counts_what_was_doubled_and_lost(tmp_path: Path) -> None:
    fair = drain(Numbers(), str(tmp_path), 50, 2)
    assert (fair.count, fair.doubled, fair.lost) == (50, 0, 0)
    assert drain(Doubling(), str(tmp_path), 50, 1).doubled == 1
    assert drain(Losing(), str(tmp_path), 50, 1).lost == 5


def test_a_contender_that_breaks_says_so(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="no such thing"):
        drain(Breaking(), str(tmp_path), 10, 2)


def test_a_missing_contender_is_named() -> None:
    assert "no_such_module_anywhere is not installed" in (Absent().missing() or "")


def test_notes_of_tasks_that_ran_are_counted(tmp_path: Path) -> None:
    folder = str(tmp_path / "notes")
    notes.prepare(folder, 5)
    program = "from benchmarks.brokers.noop import run\nfor n in (0, 1, 2, 2, 4): run({'n': n})"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, env={**os.environ, "BENCH_NOTES": folder}, check=True)
    ran = notes.read(folder)
    assert (ran.count, ran.doubled, ran.lost) == (5, 1, 1)
    assert ran.last > ran.first > 0


def test_goals_are_judged() -> None:
    assert [at_least("", 0.6, 0.6).met, at_least("", 0.59, 0.6).met] == [True, False]
    assert [at_most("", 1.5, 1.5).met, at_most("", 1.51, 1.5).met] == [True, False]
    assert [above("", 1.0, 1.0).met, above("", 1.01, 1.0).met] == [False, True]
    unknown = at_least("", None, 1.0)
    assert unknown.met is None and unknown.verdict == "NOT JUDGED"


def test_figures_replace_only_what_stands_between_the_markers(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\n{PART}drain -->\nold\n{PART}other -->\nkept\n{END}\nafter\n")
    table = Table("Speeds", ["", "tasks/s"], [["dibs", "1"]])
    outcome = Outcome("drain", tables=[table], goals=[Goal("fast", ">= 1x", "2.00x", True)], missing=["dirq: gone"])
    write_document(str(page), [outcome], {"python": "3"}, "full", 5)
    text = page.read_text()
    assert text.startswith(f"before\n{BEGIN}\n") and text.endswith(f"{END}\nafter\n")
    assert "old" not in text and "### Speeds" in text and "Missing: dirq: gone" in text
    assert text.count("kept") == text.count("<!-- part: other -->") == text.count("<!-- part: drain -->") == 1
    assert text.index("### Speeds") < text.index("kept")
    assert "| fast |  >= 1x | 2.00x |     met |" in goals_table(outcome.goals).render()
