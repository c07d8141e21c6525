"""One process of a race: `python -m dibs.testing.contender hold|fight|shuffle URL COUNT`.

It says "ready", waits for a line that names the moment to start at (boottime), and then either claims COUNT tasks,
says how many it got and never lets go, or claims and completes until nothing is left, printing the id and epoch of
each claim; or changes the priorities of what waits, COUNT at a time, until nothing does, and says when it has begun.
"""

import json
import random
import sys

from dibs.clock import SYSTEM
from dibs.errors import Refused
from dibs.queues import open_queue
from dibs.queues.queue import Queue
from dibs.states import State

TTL_SECONDS = 2.0


def hold(queue: Queue, count: int) -> None:
    held = 0
    while held < count:
        held += len(queue.claim_many(count - held, ttl=TTL_SECONDS))
    _say(str(held))
    sys.stdin.read()


def fight(queue: Queue, _: int) -> None:
    while True:
        lease = queue.claim(ttl=600)
        if lease is not None:
            lease.complete()
            _say(json.dumps([lease.id, lease.epoch]))
            continue
        states = queue.stats().states
        if not states.get(State.READY) and not states.get(State.CLAIMED):
            return
        SYSTEM.sleep(0.01)


def shuffle(queue: Queue, count: int) -> None:
    begun = False
    while waiting := [task.id for task in queue.tasks(State.READY, limit=count)]:
        for task_id in waiting:
            try:
                queue.set_priority(task_id, random.randrange(200))
            except Refused:
                continue  # somebody has claimed it
            if not begun:
                _say("shuffling")
                begun = True


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(role: str, url: str, count: str) -> None:
    queue = open_queue(url)
    _say("ready")
    start = float(sys.stdin.readline())
    SYSTEM.sleep(max(0.0, start - SYSTEM.boottime()))
    {"hold": hold, "fight": fight, "shuffle": shuffle}[role](queue, int(count))


if __name__ == "__main__":
    main(*sys.argv[1:])
