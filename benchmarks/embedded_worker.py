"""One worker on an LMDB queue with many tasks waiting and as many completed: prints what a claim + complete cost it.

The queue is topped up, untimed, before half of what waits is used up. Run by `embedded` in a fresh process.
"""

import json
import statistics
import sys
import time
from collections.abc import Iterator

import dibs

PAGE = 1000


def main(folder: str, waiting: int, claims: int) -> None:
    queue = dibs.open(f"lmdb:{folder}/queue?sync=off")
    for start in range(0, waiting, PAGE):
        queue.push_many(tasks(2 * min(PAGE, waiting - start)))
        queue.complete_many(queue.claim_many(min(PAGE, waiting - start)))
    clock = time.perf_counter
    spent: list[float] = []
    used = 0
    while len(spent) < claims:
        if used >= waiting // 2:
            queue.push_many(tasks(used))
            used = 0
        begun = clock()
        lease = queue.claim()
        if lease is None:
            raise SystemExit("nothing to claim, though the queue is not empty")
        lease.complete()
        spent.append(clock() - begun)
        used += 1
    json.dump({"median_us": statistics.median(spent) * 1e6, "mean_us": statistics.fmean(spent) * 1e6}, sys.stdout)


def tasks(count: int) -> Iterator[dict[str, object]]:
    return ({"n": number, "pad": "x" * 180} for number in range(count))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
