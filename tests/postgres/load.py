"""A worker of the restart test: `python -m postgres.load URL` claims and completes until its input ends, and prints the
id of each task whose completion it was told of. It knows nothing of restarts but that the server may be away."""

import sys
import threading

import dibs
from dibs.clock import SYSTEM


def main(place: str) -> None:
    over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
    queue = dibs.open(place)
    print("ready", flush=True)
    while not over.is_set():
        try:
            lease = queue.claim(ttl=5.0, wait=0.2)
        except dibs.StorageError:
            SYSTEM.sleep(0.05)
            continue
        if lease is not None:
            finish(lease)


def finish(lease: dibs.Lease) -> None:
    while True:
        try:
            lease.complete({"worker": lease.worker})
        except dibs.StorageError:
            SYSTEM.sleep(0.05)
        except dibs.LeaseLost:
            return
        else:
            print(lease.id, flush=True)
            return


if __name__ == "__main__":
    main(sys.argv[1])
