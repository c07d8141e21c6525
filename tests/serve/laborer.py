"""One worker of a run: `python -m serve.laborer URL`. Says the id and epoch of each task that it has completed."""

import sys

import dibs
from dibs.clock import SYSTEM
from dibs.errors import LeaseLost, StorageError
from dibs.queues.queue import Queue

TTL_SECONDS = 4.0
OPENINGS = 30


def opened(url: str) -> Queue:
    """As whatever starts workers would: again, when the daemon is not there yet."""
    for _ in range(OPENINGS):
        try:
            return dibs.open(url)
        except StorageError:
            SYSTEM.sleep(0.2)
    return dibs.open(url)


def main(url: str) -> None:
    with opened(url) as queue:
        for lease in queue.claims(ttl=TTL_SECONDS, wait=2 * TTL_SECONDS):
            SYSTEM.sleep(0.005)
            try:
                lease.complete()
            except LeaseLost:
                continue
            print(lease.id, lease.epoch, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
