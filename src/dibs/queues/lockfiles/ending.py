"""How a lease begins and ends, as records: pure, for every queue of lease files."""

import random

from dibs import states
from dibs.clock import Clock
from dibs.lease import Record
from dibs.liveness import Holder, Verdict
from dibs.queues.lockfiles.limits import Limits
from dibs.queues.views import Event
from dibs.states import Cell
from dibs.task import Task
from dibs.values import replace


def claim_record(task_id: str, cell: Cell, holder: Holder, max_runtime: float | None) -> Record:
    """The claim of a ready task; with a longest runtime it is not renewed past that."""
    until = None if max_runtime is None else holder.beat + max_runtime
    if until is not None:
        holder = replace(holder, beat=min(holder.beat, until - holder.ttl))
    return Record(states.claim(cell, holder.session), holder, until, {"task": task_id})


def event(clock: Clock, record: Record, what: str, error: str = "", result: object = None) -> Event:
    worker = record.holder.worker if record.holder else record.cell.holder
    at = round(clock.wall(), 3)
    return Event(epoch=record.cell.epoch, what=what, worker=worker, at=at, error=error, result=result)


def expired(
    record: Record, limits: Limits | Task, verdict: Verdict, now: float, clock: Clock, rng: random.Random
) -> tuple[Cell, Event]:
    """What follows when the holder is gone. `now` is the store's time."""
    if record.overrun and verdict is Verdict.SILENT:
        wait = states.backoff(limits.backoff, limits.max_backoff, record.cell.attempts + 1, rng)
        cell = states.fail(record.cell, limits.max_attempts, now + wait if wait else 0.0)
        longest = limits.max_runtime
        held = "its max_runtime" if longest is None else f"its max_runtime of {longest:g} s"
        return cell, event(clock, record, "timed out", f"held longer than {held}")
    cell = states.expire(record.cell, limits.max_deaths, counts=verdict is not Verdict.REBOOTED)
    holder = record.holder
    who = f"worker {holder.worker} on {holder.host}" if holder else "its worker"
    return cell, event(clock, record, str(verdict), f"{who} {verdict} while holding it")
