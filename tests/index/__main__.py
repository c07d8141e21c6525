"""Run schedules of the index: `python -m tests.index --schedules 1000 --jobs 2`. A seed that fails is replayed with
`python -m tests.index.schedule SEED`."""

import argparse
import multiprocessing
import sys
from collections import Counter

from tests.index.schedule import Outcome, run

LOT = 20


def lot(first: int) -> list[Outcome]:
    return [run(seed) for seed in range(first, first + LOT)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.index", description=__doc__)
    parser.add_argument("--schedules", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    troubles: Counter[str] = Counter()
    done = 0
    with multiprocessing.get_context("fork").Pool(args.jobs) as pool:
        for outcomes in pool.imap_unordered(lot, range(args.first, args.first + args.schedules, LOT)):
            for outcome in outcomes:
                done += 1
                troubles.update(outcome.troubles)
                if outcome.violation is not None:
                    print(f"index: seed {outcome.seed}: {outcome.violation}")
                    print(f"python -m tests.index.schedule {outcome.seed}")
                    return 1
            if sys.stderr.isatty():
                print(f"\rindex: {done} schedules", end="", file=sys.stderr)
    print(f"\nindex: {done} schedules, no violation")
    print("  troubles", ", ".join(f"{name} {count}" for name, count in sorted(troubles.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
