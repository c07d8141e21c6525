"""Kill a site before every single system call, sync again, and look whether everything was done once. Run as a script:

    python -m syncing.kill_each FOLDER KIND FIRST STEP          the kind of the shared queue: file, stored

For n = FIRST, FIRST + STEP, … a forked child syncs and works on a copy of the same two queues and kills itself before
its n-th changing system call (a write is torn in half first), until one gets through. Prints JSON.
"""

import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from itertools import count
from typing import Any
from unittest.mock import patch

import dibs.syncing.journal
from dibs.clock import SYSTEM, Clock, SystemClock
from dibs.errors import DibsError
from dibs.queues.queue import Queue
from dibs.states import LIVE, State
from dibs.syncing import Report, Syncer
from dibs.syncing.syncer import HOLD_SECONDS
from disk.os_seam import OsSeam, told
from moving.places import open_place

PASSES = 6


def main(folder: str, kind: str, first: str, step: str) -> None:
    place = f"{folder}/now"
    os.makedirs(place)
    assert _in_child(lambda: _fill(kind, place)) == 0
    os.rename(place, f"{folder}/template")
    failures = []
    for n in count(int(first), int(step)):
        shutil.copytree(f"{folder}/template", place)
        status = _in_child(lambda n=n: _live_and_die(kind, place, n))
        try:
            _check(kind, place)
        except (AssertionError, DibsError, OSError) as error:
            failures.append(f"killed before call {n}: {type(error).__name__} {error}")
        shutil.rmtree(place)
        if not os.WIFSIGNALED(status):
            break
    if status:
        failures.append(f"the site itself fails: {status}")
    print(json.dumps({"points": n - 1, "failures": failures}))


def _queues(kind: str, place: str) -> tuple[Queue, Queue]:
    return open_place("file", f"{place}/here"), open_place(kind, f"{place}/shared")


def _fill(kind: str, place: str) -> None:
    here, shared = _queues(kind, place)
    shared.push({"n": "failing"}, key="failing", max_attempts=1, priority=300)
    shared.push({"n": "large", "pad": "x" * 40_000}, priority=200)
    shared.push({"n": "keyed"}, key="keyed")
    shared.push({"n": "plain"})
    shared.push({"n": "after"}, after=["keyed"])
    here.push({"n": "done here"}, key="done")
    lease = here.claim()
    assert lease is not None
    lease.complete("early")
    here.push({"n": "born"}, key="born", labels=["a"])
    here.push({"n": "born after"}, after=["born", "done"])


def _sync(kind: str, place: str, here: Queue, clock: Clock = SYSTEM) -> Report:
    def opener(url: str, **options: Any) -> Queue:
        return open_place(kind, url, **options)

    with Syncer(here, f"{place}/shared", batch=3, opener=opener, clock=clock) as syncer:
        return syncer.run()


def _work(queue: Queue) -> int:
    """How many were done."""
    done = 0
    for lease in queue.claims(wait=0.0):
        done += 1
        if lease.payload["n"] == "failing":
            lease.fail("as it must")
        else:
            lease.complete(lease.payload["n"])
    return done


def _live_and_die(kind: str, place: str, n: int) -> None:
    calls = 0

    def tell(name: str, args: tuple[Any, ...]) -> None:
        nonlocal calls
        calls += 1
        if calls == n:
            if name == "write":
                os.write(args[0], bytes(args[1])[: len(args[1]) // 2])
            os.kill(os.getpid(), signal.SIGKILL)

    here = open_place("file", f"{place}/here")
    with told(tell), patch.object(dibs.syncing.journal, "os", OsSeam(tell)):
        _sync(kind, place, here)
        _work(here)
        _sync(kind, place, here)


def _check(kind: str, place: str) -> None:
    """A reservation whose taker died is found again, not waited for. Over a store, one whose taker was killed before it
    made the mark by which others would find the lease is not: it comes back when it runs out."""
    _come_to_rest(kind, place, SYSTEM)
    here, shared = _queues(kind, place)
    lost = [claim for claim in shared.claimed() if claim.id not in {task.id for task in here.tasks()}]
    if lost:
        assert kind == "stored", f"{lost} was forgotten"
        assert len(lost) == 1, lost
        _come_to_rest(kind, place, Later())
    ended = sorted((task.payload["n"], str(task.state)) for task in shared.tasks())
    done = ["after", "born", "born after", "done here", "keyed", "large", "plain"]
    assert ended == sorted([("failing", "failed"), *((name, "completed") for name in done)]), ended
    for task in shared.tasks(State.COMPLETED):
        name = task.payload["n"]
        assert shared.detail(task.id).result == ("early" if name == "done here" else name), name
    assert not [task for task in here.tasks() if task.state in LIVE]
    assert list(here.gate().departed()) == list(shared.gate().departed()) == []


def _come_to_rest(kind: str, place: str, clock: Clock) -> None:
    here = open_place("file", f"{place}/here")
    for _ in range(PASSES):
        report = _sync(kind, place, here, clock)
        assert report.conflicts == [], report
        assert report.refusals == [], report
        worked = _work(here)
        if not report.changed and not worked:
            return
    raise AssertionError(f"it never comes to rest: {report}")


class Later(SystemClock):
    """When every reservation of this run is over."""

    def boottime(self) -> float:  # type: ignore[override]
        return SYSTEM.boottime() + 2 * HOLD_SECONDS


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
