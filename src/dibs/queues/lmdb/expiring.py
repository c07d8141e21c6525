"""How a lease ends without its holder: one attempt or one death more, and the task goes back or is dead-lettered."""

import random
from typing import Any

from dibs import states
from dibs.liveness import Verdict
from dibs.queues.lmdb.cells import Cells
from dibs.queues.lmdb.layout import MICRO, WORKER, Standing
from dibs.queues.lmdb.workers import record_of

MAX_ATTEMPTS, MAX_DEATHS, BACKOFF, MAX_BACKOFF = 3, 5, 1.0, 3600.0  # of tasks whose record names no other
_SLACK = 1000


def fail(cells: Cells, task: bytes, cell: Standing, rng: random.Random, *, retry: bool = True) -> None:
    """One attempt more: dead-lettered when there are none left, else it waits."""
    record = cells.record(task)
    most = record.get("max_attempts", MAX_ATTEMPTS) if retry else 0
    first, longest = record.get("backoff", BACKOFF), record.get("max_backoff", MAX_BACKOFF)
    delay = states.backoff(first, longest, cell.attempts + 1, rng)
    cells.stand(task, cell, states.fail(cell.cell, most, cells.due(delay)))


def expire(cells: Cells, task: bytes, cell: Standing, verdict: Verdict, rng: random.Random) -> None:
    """The holder is gone, or its time is over."""
    worker = cell.worker.decode()
    event: dict[str, Any] = {"epoch": cell.epoch, "what": str(verdict), "worker": worker}
    if verdict is Verdict.SILENT and cell.runtime and cell.when >= cell.since + cell.runtime - _SLACK:
        event["what"] = "timed out"
        event["error"] = f"held longer than its max_runtime of {cell.runtime / MICRO:g} s"
        fail(cells, task, cell, rng)
    else:
        host = record_of(cells.get(WORKER + cell.worker)).get("host")
        event["error"] = f"worker {worker}{f' on {host}' if host else ''} {verdict} while holding it"
        most = cells.record(task).get("max_deaths", MAX_DEATHS)
        cells.stand(task, cell, states.expire(cell.cell, most, counts=verdict is not Verdict.REBOOTED))
    cells.note(task, event)
