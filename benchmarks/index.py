"""The index: merging updates into many records beside Polars and DuckDB, its codec beside Polars' CSV, writing and
looking up. Each measurement is a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from benchmarks.children import environment
from benchmarks.index_records import copied, fill
from benchmarks.measure import Series, alternate, scratch, settle
from benchmarks.plan import Plan
from benchmarks.report import Goal, Outcome, Table, at_least, at_most, ratio, spread, times

OURS = "dibs"
SYNCED = "dibs, each shard synced"
TOGETHER = "dibs, a process for each processor"
MERGES = {
    OURS: "merge_dibs",
    TOGETHER: "merge_dibs_together",
    SYNCED: "merge_dibs_synced",
    "Polars": "merge_polars",
    "Polars, left unsorted": "merge_polars_unsorted",
    "DuckDB": "merge_duckdb",
    "DuckDB, left unsorted": "merge_duckdb_unsorted",
}
PEERS = ("Polars", "DuckDB")
PUTS = {"dibs, in one batch": "put", "dibs, in one batch, synced": "put_synced", "a file for each record": "put_floor"}
MOST_SHARDS = 3.0


def run(plan: Plan) -> Outcome:
    outcome = Outcome("index")
    try:
        _measure(plan, outcome)
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        outcome.faults.append(f"{type(error).__name__}: {error}")
    return outcome


def _measure(plan: Plan, outcome: Outcome) -> None:
    count = plan.size.index_records
    place = scratch(plan.folder)
    full = os.path.join(place, "full")
    plan.say(f"making an index of {count:,} records")
    fill(full, count)
    few = os.path.join(place, "few")
    fill(few, max(count // 16, 16), shards=16)
    with_inbox = copied(full, os.path.join(place, "inbox"))
    _worker("waiting", with_inbox, count)
    settle(count)
    merges = {name: Series(count=count) for name in MERGES}
    puts = {name: Series(count=count // 10) for name in PUTS}
    memory = dict.fromkeys(MERGES, 0.0)
    gets: dict[str, Series] = {"few": Series(), "full": Series()}
    codecs: list[dict[str, float]] = []
    results: dict[str, int] = {}

    def merge(name: str) -> None:
        work = copied(with_inbox, os.path.join(place, "work"))
        settle(count)
        found = _worker(MERGES[name], work)
        if (expected := results.setdefault("records", found["found"])) != found["found"]:
            raise RuntimeError(f"{name}: {found['found']} records in the end, {expected} by {OURS}")
        merges[name].values.append(found["seconds"])
        merges[name].processor_us.append(found["processor"] * 1e6 / count)
        memory[name] = max(memory[name], found["megabytes"])

    def put(name: str) -> None:
        puts[name].values.append(_worker(PUTS[name], scratch(plan.folder), count // 10)["seconds"])

    def rest() -> None:
        codecs.append(_worker("codec", place, max(count // 10, 10)))
        for name, folder, many in (("few", few, max(count // 16, 16)), ("full", full, count)):
            gets[name].values.append(_worker("get", folder, many)["seconds"])

    runs: dict[str, Callable[[], None]] = {name: lambda name=name: merge(name) for name in MERGES}  # type: ignore[misc]
    runs |= {name: lambda name=name: put(name) for name in PUTS}  # type: ignore[misc]
    alternate(plan.rounds, runs | {"codec and lookups": rest}, plan.say)
    most = _worker("merge_memory", copied(with_inbox, os.path.join(place, "work")))
    outcome.data = {name: series.to_json() for name, series in (merges | puts).items()}
    outcome.data |= {"codec": codecs, "memory": most, "gets": {name: one.to_json() for name, one in gets.items()}}
    outcome.tables = [_merge_table(merges, memory, count), _put_table(puts), _codec_table(codecs, gets)]
    outcome.goals = _goals(merges, puts, codecs, gets, most, count)


def _worker(what: str, folder: str, *numbers: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.index_worker", what, folder, *map(str, numbers)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{what}: {done.stderr.strip().splitlines()[-1:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _by_round(one: Series, other: Series) -> float | None:
    """The median of the rounds' own ratios: how many times as fast the first is."""
    ratios = sorted(theirs / ours for ours, theirs in zip(one.values, other.values, strict=True))
    return ratios[len(ratios) // 2] if ratios else None


def _median(codecs: list[dict[str, float]], one: str, other: str) -> float:
    ratios = sorted(found[other] / found[one] for found in codecs)
    return ratios[len(ratios) // 2]


def _goals(
    merges: dict[str, Series], puts: dict[str, Series], codecs: list[dict[str, float]], gets: dict[str, Series],
    most: dict[str, Any], count: int,
) -> list[Goal]:  # fmt: skip
    best = min((merges[name] for name in PEERS), key=lambda series: series.median or 0.0)
    in_batch, _, floor = puts.values()
    return [
        at_least(f"index, merge of {count // 10:,} into {count:,}, against the best of Polars and DuckDB",
                 _by_round(merges[OURS], best), 1.0),
        at_most("index, memory of a merge, in largest shards with their inbox", most["ratio"], MOST_SHARDS),
        at_least("index, parsing USV against Polars' CSV", _median(codecs, "read_usv", "read_csv"), 0.5),
        at_least("index, writing USV against Polars' CSV", _median(codecs, "write_usv", "write_csv"), 0.5),
        at_least(f"index, put of {count // 10:,} against creating as many files", _by_round(in_batch, floor), 0.6),
        at_most("index, a lookup in sixteen times as many records, shards of the same size",
                ratio(gets["full"].median, gets["few"].median), 1.5),
    ]  # fmt: skip


def _merge_table(merges: dict[str, Series], memory: dict[str, float], count: int) -> Table:
    table = Table(
        f"Merging {count // 10:,} updates into {count:,} records of ten fields, s",
        ["", "median", "spread", "processor", "memory, MB", "dibs is faster by"],
    )
    for name, series in merges.items():
        low, high = min(series.values), max(series.values)
        processor = sorted(series.processor_us)[len(series.processor_us) // 2] * count / 1e6
        against = "" if name == OURS else f"{times(_by_round(merges[OURS], series))}x"
        row = [
            name,
            f"{series.median or 0:.2f}",
            spread(low, high, 2),
            f"{processor:.2f}",
            f"{memory[name]:.0f}",
            against,
        ]
        table.rows.append(row)
    table.notes = [
        "all read the same 256 shards and 256 files of the inbox; dibs writes 256 sorted shards, takes 256 locks and "
        "deletes the inbox, the others write one file",
        "dibs is one process with one thread, but where it says otherwise; the others use all processors",
        "memory is the growth of the process beyond what it had with everything imported; of the processes that dibs "
        "starts besides, all that they have",
        "left unsorted: the same join without putting the result in the order of keys, which a shard must have",
    ]
    return table


def _put_table(puts: dict[str, Series]) -> Table:
    table = Table("Writing to the inbox, records/s", ["", "median", "spread"])
    for name, series in puts.items():
        rates = sorted(series.count / seconds for seconds in series.values)
        table.rows.append([name, f"{rates[len(rates) // 2]:,.0f}", spread(rates[0], rates[-1])])
    return table


def _codec_table(codecs: list[dict[str, float]], gets: dict[str, Series]) -> Table:
    table = Table("Codec and lookups, ms", ["", "median"])
    for name, title in (
        ("read_usv", "parse USV into a frame"),
        ("read_csv", "Polars parses CSV, all columns text"),
        ("write_usv", "write a frame as USV"),
        ("write_csv", "Polars writes CSV"),
        ("plain", "parse USV in plain Python"),
    ):
        found = sorted(one[name] for one in codecs)
        table.rows.append([title, f"{found[len(found) // 2] * 1000:.1f}"])
    for name, title in (("few", "get, a sixteenth of the records in a sixteenth of the shards"), ("full", "get")):
        table.rows.append([title, f"{(gets[name].median or 0) * 1000:.2f}"])
    return table
