"""Kill a mover before every single statement, look what is left, and move again. Run as a script:

    python -m postgres.kill_each FOLDER URL DIRECTION FIRST STEP      to or from the server, to whose URL n is added

For n = FIRST, FIRST + STEP, … a forked child moves a fresh queue and kills itself before its n-th statement, or commit,
until one gets through. Prints JSON: how many statements there are, what went wrong.
"""

import json
import os
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from itertools import count
from typing import Any

import dibs
from dibs.errors import DibsError
from dibs.moving import move
from dibs.queues.postgres import database
from dibs.queues.queue import Queue
from dibs.states import LIVE
from moving.places import comparable, fill, look
from moving.sums import sum_up


def main(folder: str, url: str, direction: str, first: str, step: str) -> None:
    failures = []
    for n in count(int(first), int(step)):
        places = [f"file:{folder}/{n}?sync=off", f"{url}{n}"]
        source, target = places if direction == "to" else reversed(places)
        assert _in_child(lambda source=source: fill(dibs.open(source))) == 0
        status = _in_child(lambda source=source, target=target, n=n: _move_and_die(source, target, n))
        try:
            _check(source, target)
        except (AssertionError, DibsError, OSError) as error:
            failures.append(f"killed before statement {n}: {type(error).__name__} {error}")
        if not os.WIFSIGNALED(status):
            break
    if status:
        failures.append(f"the move itself fails: {status}")
    print(json.dumps({"points": n - 1, "failures": failures}))


def _move_and_die(source: str, target: str, n: int) -> None:
    """The queues are opened before the counting begins: where there is none yet, tables are made."""
    queues = dibs.open(source), dibs.open(target)
    ask, commit = database.Database.ask, database._Transaction.__exit__
    sent = 0

    def tell() -> None:
        nonlocal sent
        sent += 1
        if sent == n:
            os.kill(os.getpid(), signal.SIGKILL)

    def counted_ask(*args: Any, **values: Any) -> Any:
        tell()
        return ask(*args, **values)

    def counted_commit(*args: Any) -> Any:
        tell()
        return commit(*args)

    database.Database.ask = counted_ask  # type: ignore[method-assign]
    database._Transaction.__exit__ = counted_commit  # type: ignore[method-assign]
    move(*queues)


def _check(at: str, to: str) -> None:
    with dibs.open(at) as source, dibs.open(to) as target:
        names = {task.payload["n"]: task.id for queue in (source, target) for task in queue.tasks()}
        names |= {parcel.task.payload["n"]: parcel.id for parcel in source.gate().departed()}
        ids = {task_id for name, task_id in names.items() if name != "done"}
        assert len(ids) == 9, names
        sum_up(source, target, ids)
        report = move(source, target)
        assert (report.verified, report.refused, report.left) == (True, 0, {}), report
        sum_up(source, target, ids)
        assert list(source.gate().departed()) == []
        assert Counter(task.id for task in target.tasks()) == Counter(names.values())
        _check_details(look(target), names)
        ran = _run_all(target)
        assert ran == Counter(["blocked", "keyed", "large", "plain", "released"]), ran
        assert not [task for task in source.tasks() if task.state in LIVE]


def _check_details(seen: dict[str, Any], names: dict[str, str]) -> None:
    """As they stood, but for what is different in each queue that was filled alike: ids and times."""
    with dibs.open("memory:") as model:
        fill(model)
        for name, task in ((task.payload["n"], task) for task in model.tasks()):
            if name != "done":
                assert _alike(seen[names[name]]) == _alike(comparable(model.detail(task.id))), name


def _alike(detail: Any) -> tuple[Any, ...]:
    task = detail.task
    ended = [(event.epoch, event.what, event.error) for event in detail.history]
    return (
        task.payload, task.key, task.priority, task.labels, task.after, task.state, task.epoch, task.attempts,
        task.max_runtime, ended, detail.error, detail.waits_for,
    )  # fmt: skip


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
