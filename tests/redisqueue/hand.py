"""A process that works on a Redis queue: `python -m redisqueue.hand push|work|hold URL COUNT`.

push   pushes COUNT tasks, some by batch, and prints the id of each once it is acknowledged
work   claims and completes until told to stop (end of stdin) and nothing is left, printing what it completed
hold   claims one task with a long lease, prints its id, and does nothing more

Each says "ready" when it has opened the queue.
"""

import json
import sys
import threading

import dibs
from dibs.clock import SYSTEM
from dibs.errors import LeaseLost, StorageError
from dibs.queues.queue import Queue


def push(queue: Queue, count: int) -> None:
    left = count
    while left > 0:
        batch = min(left, 1 + left % 5)
        try:
            tasks = queue.push_many([{"n": left - n} for n in range(batch)])
        except StorageError:  # unanswered: they may be there all the same
            continue
        for task in tasks:
            say("pushed", task.id)
        left -= batch


def work(queue: Queue, _: int) -> None:
    told = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), told.set()), daemon=True).start()
    while True:
        try:
            lease = queue.claim(ttl=5, wait=0.2)
            if lease is None:
                states = queue.stats().states
                if told.is_set() and not states["ready"] and not states["claimed"]:
                    return
                continue
            lease.complete({"by": lease.worker})
            say("completed", lease.id)
        except LeaseLost:
            say("lost", lease.id if lease else "")
        except StorageError as error:
            say("trouble", str(error))


def hold(queue: Queue, _: int) -> None:
    lease = queue.claim(ttl=600, wait=10)
    assert lease is not None
    say("held", lease.id)
    SYSTEM.sleep(600)


def say(what: str, value: str) -> None:
    sys.stdout.write(json.dumps([what, value]) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    role, url, count = sys.argv[1:]
    queue = dibs.open(url)
    say("ready", role)
    {"push": push, "work": work, "hold": hold}[role](queue, int(count))
