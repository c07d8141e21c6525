"""One worker of a run: `python -m serve.laborer URL`. Says the id and epoch of each task that it has completed."""

import sys

import dibs
from dibs.clock import SYSTEM
from dibs.errors import LeaseLost

TTL_SECONDS = 4.0


def main(url: str) -> None:
    with dibs.open(url) as queue:
        for lease in queue.claims(ttl=TTL_SECONDS, wait=2 * TTL_SECONDS):
            SYSTEM.sleep(0.005)
            try:
                lease.complete()
            except LeaseLost:
                continue
            print(lease.id, lease.epoch, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
