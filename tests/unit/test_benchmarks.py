"""The benchmarks run, and what they say can be trusted: doubled, lost and missing are seen. No speed is judged here."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks.brokers import notes
from benchmarks.contenders import Contender
from benchmarks.document import BEGIN, END, write_document
from benchmarks.measure import drain
from benchmarks.report import Goal, Outcome, Table, above, at_least, at_most, goals_table

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
    done = subprocess.run([*command, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=240)
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


def test_buckets_run_with_every_contender(tmp_path: Path) -> None:
    (found,) = run(tmp_path, "--only", "bucket")["outcomes"]
    assert found["missing"] == []
    for name in ("obstore, put put get put/1", "dibs/1", "dibs/16", "dibs, batches of 100/16"):
        series = found["data"][name]
        assert series["median"] > 0 and series["doubled"] == series["lost"] == 0, name
    assert found["data"]["dibs work --call"]["lost"] == 0
    assert found["data"]["boto3, the same protocol/16"]["requests_per_task"]["put"] == 3
    assert all(goal["met"] is not None for goal in found["goals"])


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
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    table = Table("Speeds", ["", "tasks/s"], [["dibs", "1"]])
    outcome = Outcome("drain", tables=[table], goals=[Goal("fast", ">= 1x", "2.00x", True)], missing=["dirq: gone"])
    write_document(str(page), [outcome], {"python": "3"}, "full", 5)
    text = page.read_text()
    assert text.startswith(f"before\n{BEGIN}\n") and text.endswith(f"{END}\nafter\n")
    assert "old" not in text and "### Speeds" in text and "Missing: dirq: gone" in text
    assert "| fast |  >= 1x | 2.00x |     met |" in goals_table(outcome.goals).render()
