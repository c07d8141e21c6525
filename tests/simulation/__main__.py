"""Run schedules, or replay one with its trace.

Schedules depend on the order of sets, so the hash seed is fixed: the command starts itself again with it.
"""

import argparse
import os
import sys

from .broken import VARIANTS, broken
from .many import Tally, tallies
from .schedule import BACKENDS, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--backend", choices=sorted(BACKENDS), action="append", help="default: all of them")
    parser.add_argument("--schedules", type=int, default=1000, help="how many for each backend")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep-going", action="store_true", help="count violations instead of stopping at the first")
    parser.add_argument("--seed", type=int, help="replay this one schedule, with its trace")
    parser.add_argument("--variant", choices=sorted(VARIANTS), help="with --seed: of a broken variant")
    args = parser.parse_args()
    if args.variant:
        return replay(VARIANTS[args.variant].backend, args.seed or 0, VARIANTS[args.variant])
    backends = args.backend or sorted(BACKENDS)
    if args.seed is not None:
        return max(replay(backend, args.seed) for backend in backends)
    return max(simulate(backend, args) for backend in backends)


def simulate(backend: str, args: argparse.Namespace) -> int:
    total = Tally()
    for tally in tallies(backend, args.first, args.schedules, args.jobs):
        total += tally
        if sys.stderr.isatty():
            print(
                f"\r{backend}: {total.schedules} schedules, {len(total.violated)} violations", end="", file=sys.stderr
            )
        if total.violated and not args.keep_going:
            break
    print(f"\n{backend}: {total.schedules} schedules, {total.events} events, {len(total.violated)} violations")
    print("  steps   ", ", ".join(f"{name} {count}" for name, count in sorted(total.steps.items())))
    print("  troubles", ", ".join(f"{name} {count}" for name, count in sorted(total.troubles.items())))
    for seed, _, text in sorted(total.violated)[:20]:
        print(f"  seed {seed}: {text[:300]}")
    if total.violated:
        replay(backend, min(total.violated)[0])
    return bool(total.violated)


def replay(backend: str, seed: int, variant: type | None = None) -> int:
    with broken(variant):
        outcome = run(seed, backend, trace=True, variant=variant)
    print("\n".join(outcome.trace))
    print(f"python -m tests.simulation --seed {seed} --backend {backend}: {outcome.violation or 'no violation'}")
    return outcome.violation is not None


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, "-m", "tests.simulation", *sys.argv[1:]])
    sys.exit(main())
