"""One of several processes at one remote: -m git.contender WHAT CLONE NUMBER ROUNDS. Prints what it won, as JSON."""

import json
import sys
from pathlib import Path

from dibs.stores.store import Changed, Exists
from git.clones import branch_of, store_of


def create(clone: Path, number: int, rounds: int) -> list[int]:
    store = store_of(clone)
    won = []
    for round_ in range(rounds):
        try:
            store.create(f"task-{round_}", b'{"epoch":1,"by":%d}' % number)
            won.append(round_)
        except Exists:
            pass
    return won


def replace(clone: Path, number: int, rounds: int) -> list[int]:
    """From each value that is seen to the next epoch; so every epoch has one winner."""
    store = store_of(clone)
    won = []
    while True:
        entry = store.get("cell")
        assert entry is not None
        epoch = json.loads(entry.data)["epoch"]
        if epoch >= rounds:
            return won
        try:
            store.replace("cell", b'{"epoch":%d,"by":%d}' % (epoch + 1, number), entry.version)
            won.append(epoch + 1)
        except Changed:
            pass


def publish(clone: Path, number: int, rounds: int) -> list[int]:
    branch = branch_of(clone)
    lost = 0
    for round_ in range(rounds):
        while True:
            tip = branch.fetch()
            try:
                tip = branch.publish(tip, {f"{number}-{round_}.md": b"%d\n" % round_}, f"{number} {round_}")
                break
            except Changed:
                lost += 1
        branch.catch_up(tip)
    return [lost]


def look(clone: Path, number: int, rounds: int) -> list[int]:
    store = store_of(clone)
    for _ in range(rounds):
        store.snapshot()
        store.get("task-1")
    return []


if __name__ == "__main__":
    what, clone, number, rounds = sys.argv[1:]
    doing = {"create": create, "replace": replace, "publish": publish, "look": look}[what]
    print(json.dumps(doing(Path(clone), int(number), int(rounds))))
