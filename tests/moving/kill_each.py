"""Kill a mover before every single system call, look what is left, and move again. Run as a script:

    python -m moving.kill_each FOLDER SOURCE TARGET FIRST STEP      the kinds of the two queues: file, stored

For n = FIRST, FIRST + STEP, … a forked child moves a copy of the same prepared queue and kills itself before its n-th
changing system call (a write is torn in half first), until one gets through. Prints JSON: which call was the last,
what went wrong.
"""

import json
import os
import shutil
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from itertools import count
from typing import Any

from dibs.errors import DibsError
from dibs.moving import move
from dibs.queues.queue import Queue
from dibs.queues.views import Detail
from dibs.states import LIVE
from disk.os_seam import told
from moving.places import comparable, fill, look, open_place
from moving.sums import sum_up


def main(folder: str, one: str, other: str, first: str, step: str) -> None:
    place = f"{folder}/now"  # always the same: what departs is marked with where it goes
    os.makedirs(place)
    assert _in_child(lambda: fill(open_place(one, f"{place}/a"))) == 0
    os.rename(place, f"{folder}/template")
    failures = []
    for n in count(int(first), int(step)):
        shutil.copytree(f"{folder}/template", place)
        with open_place(one, f"{place}/a") as source:
            before = look(source)
        status = _in_child(lambda n=n: _move_and_die(one, other, place, n))
        try:
            _check(one, other, place, before)
        except (AssertionError, DibsError, OSError) as error:
            failures.append(f"killed before call {n}: {type(error).__name__} {error}")
        shutil.rmtree(place)
        if not os.WIFSIGNALED(status):
            break
    if status:
        failures.append(f"the move itself fails: {status}")
    print(json.dumps({"points": n - 1, "failures": failures}))


def _move_and_die(one: str, other: str, place: str, n: int) -> None:
    calls = 0

    def tell(name: str, args: tuple[Any, ...]) -> None:
        nonlocal calls
        calls += 1
        if calls == n:
            if name == "write":
                os.write(args[0], bytes(args[1])[: len(args[1]) // 2])
            os.kill(os.getpid(), signal.SIGKILL)

    with told(tell):
        move(open_place(one, f"{place}/a"), open_place(other, f"{place}/b"))


def _check(one: str, other: str, place: str, before: dict[str, Detail]) -> None:
    source, target = open_place(one, f"{place}/a"), open_place(other, f"{place}/b")
    sum_up(source, target, set(before))
    report = move(source, target)
    assert report.verified, report
    assert not report.refused, report
    assert report.left == {}, report
    sum_up(source, target, set(before))
    after = {task_id: comparable(target.detail(task_id)) for task_id in before}
    for task_id, detail in before.items():
        assert after[task_id] == detail, f"{after[task_id]} is not {detail}"
    assert Counter(task.id for task in target.tasks()) == Counter([*before, target.get("done").id])
    ran = _run_all(target)
    assert ran == Counter(["blocked", "keyed", "large", "plain", "released"]), ran
    assert not [task for task in source.tasks() if task.state in LIVE]


def _run_all(queue: Queue) -> Counter[str]:
    ran: Counter[str] = Counter()
    for lease in queue.claims(wait=0.0):
        ran[lease.payload["n"]] += 1
        lease.complete()
    return ran


def _in_child(act: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:
        try:
            act()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return os.waitpid(child, 0)[1]


if __name__ == "__main__":
    main(*sys.argv[1:])
