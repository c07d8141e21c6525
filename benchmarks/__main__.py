"""`python -m benchmarks`: run the benchmarks, print tables and goals, keep the figures.

The exit code is 1 when dibs lost, doubled or broke something. A goal that is not met does not change it: speed
is judged by people, on a quiet machine, at full size.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from benchmarks import (
    bucket,
    cli,
    daemon,
    drain,
    embedded,
    index,
    machine,
    postgres_queues,
    push,
    redis_queues,
    scale,
    specs,
)
from benchmarks.document import write_document
from benchmarks.plan import SIZES, Plan
from benchmarks.report import Outcome, goals_table

BENCHMARKS: dict[str, Callable[[Plan], Outcome]] = {
    "push": push.run,
    "drain": drain.run,
    "scale": scale.run,
    "embedded": embedded.run,
    "redis": redis_queues.run,
    "postgres": postgres_queues.run,
    "bucket": bucket.run,
    "specs": specs.run,
    "index": index.run,
    "daemon": daemon.run,
    "cli": cli.run,
}


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    size = SIZES[options.size]
    rounds = options.rounds or size.rounds
    os.makedirs(options.dir, exist_ok=True)
    with _folder(options.dir) as folder:
        where = machine.describe(folder)
        print(f"dibs benchmarks, size {size.name}, {rounds} rounds, in {options.dir}")
        print(", ".join(f"{name} {value}" for name, value in where.items()) + "\n")
        if machine.in_memory(folder):
            kind = where["file system"]
            print(f"WARNING: {options.dir} is in memory ({kind}), not on a disk; durable means nothing there\n")
        plan = Plan(size, folder, rounds, _say, tuple(options.contender or ()))
        outcomes = [_run(name, plan) for name in options.only or BENCHMARKS]
    found = {"size": size.name, "rounds": rounds, "machine": where, "outcomes": [out.to_json() for out in outcomes]}
    goals = [goal for outcome in outcomes for goal in outcome.goals]
    print(goals_table(goals).render())
    if size.name != "full":
        print(f"size {size.name}: the goals are judged at full size; these verdicts only show that everything runs\n")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)
    if options.doc:
        write_document(options.doc, outcomes, where, size.name, rounds)
    return _closing(outcomes)


@contextmanager
def _folder(disk: str) -> Iterator[str]:
    """A folder on the disk under test, gone afterwards."""
    path = tempfile.mkdtemp(prefix="bench-", dir=disk)
    try:
        yield path
    finally:
        _say("clearing away")
        subprocess.run(["rm", "-rf", path], check=True)  # of a million files, much faster than shutil


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _run(name: str, plan: Plan) -> Outcome:
    begun = time.perf_counter()
    outcome = BENCHMARKS[name](plan)
    outcome.seconds = time.perf_counter() - begun
    print(f"## {name} ({outcome.seconds:.0f} s)\n")
    for table in outcome.tables:
        print(table.render())
    for missing in outcome.missing:
        print(f"MISSING: {missing}")
    for fault in outcome.faults:
        print(f"FAULT: {fault}")
    print(flush=True)
    return outcome


def _closing(outcomes: list[Outcome]) -> int:
    missing = [line for outcome in outcomes for line in outcome.missing]
    faults = [line for outcome in outcomes for line in outcome.faults]
    if missing:
        print(f"MISSING: {len(missing)} contenders did not run; see above")
    if faults:
        print(f"FAULT: {len(faults)} runs went wrong; see above")
    return 1 if faults else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="dibs beside its floor and its peers")
    parser.add_argument(
        "--size", choices=SIZES, default="small", help="small: a minute or two; full: what the goals are judged on"
    )
    parser.add_argument(
        "--only", action="append", choices=BENCHMARKS, metavar="NAME", help=f"{', '.join(BENCHMARKS)}; may be repeated"
    )
    parser.add_argument("--contender", action="append", metavar="PART", help="only contenders with this in their name")
    parser.add_argument("--rounds", type=int, help="rounds of each contender (the size has its own)")
    parser.add_argument(
        "--dir", default="build", help="a folder on the disk to measure (default: %(default)s in this one)"
    )
    parser.add_argument("--json", metavar="OUT", help="write all figures here")
    parser.add_argument("--doc", metavar="FILE", help="put the tables into this markdown file, between its markers")
    return parser


if __name__ == "__main__":
    sys.exit(main())
