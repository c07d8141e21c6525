"""One worker on a queue with many tasks waiting: prints what a claim + complete cost it, and its memory, as JSON.

The queue is topped up, untimed, before half of what waits is used up. Run by `scale` in a fresh process.
"""

import json
import statistics
import sys
import time

import dibs


def main(path: str, waiting: int, claims: int) -> None:
    queue = dibs.open(f"file:{path}?sync=off")
    clock = time.perf_counter
    begun = clock()
    _step(queue)
    first = clock() - begun
    spent: list[float] = []
    used = 1
    while len(spent) < claims:
        if used >= waiting // 2:
            queue.push_many({"n": number, "pad": "x" * 180} for number in range(used))
            used = 0
        begun = clock()
        _step(queue)
        spent.append(clock() - begun)
        used += 1
    found = {
        "median_us": statistics.median(spent) * 1e6,
        "mean_us": statistics.fmean(spent) * 1e6,
        "worst_ms": max(spent) * 1e3,
        "first_ms": first * 1e3,
        "peak_mb": peak_mb(),
    }
    json.dump(found, sys.stdout)


def _step(queue: dibs.Queue) -> None:
    lease = queue.claim()
    if lease is None:
        raise SystemExit("nothing to claim, though the queue is not empty")
    lease.complete()


def peak_mb() -> float:
    """The largest resident size of this process since it was started (not inherited, unlike ru_maxrss)."""
    with open("/proc/self/status", encoding="ascii") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return 0.0


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
