"""Run schedules, or replay one: see the package's docstring."""

import argparse
import os
import sys
import time
import traceback

from .schedule import BACKENDS, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, help="replay this schedule, with its trace")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--schedules", type=int, default=1000)
    parser.add_argument("--backend", choices=sorted(BACKENDS), action="append")
    parser.add_argument("--keep-going", action="store_true", help="count violations instead of stopping at the first")
    args = parser.parse_args()
    backends = args.backend or sorted(BACKENDS)
    if args.seed is not None:
        outcome = run(args.seed, backends[0], trace=True)
        print("\n".join(outcome.trace))
        print(outcome.violation or f"seed {args.seed}: no violation")
        return outcome.violation is not None
    from collections import Counter

    counts: Counter = Counter()
    began = time.monotonic()
    events = 0
    steps: Counter = Counter()
    for backend in backends:
        for seed in range(args.first, args.first + args.schedules):
            outcome = run(seed, backend)
            events += outcome.events
            steps.update(outcome.steps)
            if outcome.violation:
                counts[outcome.violation.kind] += 1
                if counts[outcome.violation.kind] <= 3:
                    print(backend, seed, str(outcome.violation)[:600])
                if not args.keep_going:
                    return 1
    spent = time.monotonic() - began
    print(f"{args.schedules} schedules in {spent:.1f} s, {spent/args.schedules/len(backends)*1e3:.2f} ms each; events {events} {dict(steps)}", dict(counts))
    return 0


if os.environ.get("PYTHONHASHSEED") != "0":
    os.environ["PYTHONHASHSEED"] = "0"
    os.execv(sys.executable, [sys.executable, "-m", "tests.simulation", *sys.argv[1:]])
sys.exit(main())
