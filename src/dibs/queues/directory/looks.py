"""What a `dir:` queue shows: each file, with what its witness, its lease and its past say of it."""

import base64
import os
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from dibs.clock import Clock
from dibs.errors import BadInput
from dibs.host import Host
from dibs.lease import Leases, Record
from dibs.queues.directory.frontier import Frontier, Source
from dibs.queues.directory.names import is_path
from dibs.queues.directory.steps import LEASE, Steps, lease_key
from dibs.queues.lockfiles.claims import claim_of
from dibs.queues.lockfiles.limits import Limits
from dibs.queues.lockfiles.naming import record_name
from dibs.queues.lockfiles.past import ALL, FOLDERS, Past, Pasts
from dibs.queues.views import Claim, Detail, Stats
from dibs.states import Cell, State
from dibs.task import Task

ORDER = (State.CLAIMED, State.READY, State.SCHEDULED, State.FAILED, State.CANCELLED, State.COMPLETED)


class Known(NamedTuple):
    task: Task
    cell: Cell
    past: Past
    lease: Record | None


class Looks:
    def __init__(
        self,
        frontier: Frontier,
        leases: Leases,
        pasts: Pasts,
        steps: Steps,
        held: Callable[[], set[str]],
        limits: Limits,
        clock: Clock,
        host: Host,
    ) -> None:
        self._frontier = frontier
        self._leases = leases
        self._pasts = pasts
        self._steps = steps
        self._held = held
        self._limits = limits
        self._clock = clock
        self._host = host

    def known(self, task_id: str) -> Known | None:
        """None when there is no such file, and nothing is kept of one either."""
        if not is_path(task_id):
            return None
        source = self._frontier.source(task_id)
        past = self._pasts.read(task_id)
        lease = self._lease(task_id)
        if source is None and lease is None and past == Past():
            return None
        over = past.cell.state in (State.CANCELLED, State.FAILED)  # then a lease is only being tried
        held = lease is not None and lease.cell.epoch > past.cell.epoch and not over
        cell = lease.cell if held and lease else self._steps.standing(task_id, past)
        return Known(self.task(task_id, source).standing(cell), cell, past, lease if held else None)

    def task(self, task_id: str, source: Source | None) -> Task:
        limits = self._limits
        path = source.path if source else self._frontier.path(task_id)
        payload = {"path": path, "name": task_id, "size": source.size if source else None}
        if not _is_text(path):
            payload["path"] = f"{self._frontier.root}/{task_id}"
            payload["path_base64"] = base64.b64encode(os.fsencode(path)).decode()
        return Task(
            id=task_id,
            payload=payload,
            key=task_id,
            max_attempts=limits.max_attempts,
            max_deaths=limits.max_deaths,
            max_runtime=limits.max_runtime,
            backoff=limits.backoff,
            max_backoff=limits.max_backoff,
            pushed_at=source.mtime if source else 0.0,
        )

    def tasks(self, state: str | None, limit: int | None) -> Iterator[Task]:
        if state is not None and state not in list(State):
            raise BadInput(f"state {state!r} is not known; use one of {', '.join(State)}")
        shown = 0
        for kind in ORDER if state is None else (State(state),):
            for task in self._of(kind):
                if limit is not None and shown >= limit:
                    return
                shown += 1
                yield task

    def _of(self, state: State) -> Iterator[Task]:
        for task_id in self._ids(state):
            known = self.known(task_id)
            if known is not None and known.cell.state is state:
                yield known.task

    def _ids(self, state: State) -> Iterator[str]:
        """Those that may be in this state, each found where it is quickest."""
        if state is State.CLAIMED:
            yield from (claim.id for claim in self.claims())
        elif state in (State.FAILED, State.CANCELLED):
            yield from sorted(self._pasts.ids(FOLDERS[state]))
        else:
            yield from (task_id for task_id, done in self._frontier.files() if done == (state is State.COMPLETED))

    def _states(self) -> Iterator[State]:
        """The state of every task, by names alone as far as that goes."""
        held = self._held()
        past = {folder: self._pasts.names(folder) for folder in ALL}
        for task_id, done in self._frontier.files():
            name = record_name(task_id)
            if name in held and (known := self.known(task_id)):
                yield known.cell.state
            elif done:
                yield State.COMPLETED
            elif name in past["failed"]:
                yield State.FAILED
            elif name in past["cancelled"]:
                yield State.CANCELLED
            else:
                kept = self._pasts.read(task_id) if name in past["waiting"] else Past()
                yield self._steps.standing(task_id, kept).state

    def claims(self) -> list[Claim]:
        claims = []
        for name in sorted(self._held()):
            record = self._record(name + LEASE)
            if record is not None and record.cell.epoch > 0 and record.cell.state is State.CLAIMED:
                task_id = str(record.data.get("task", name))
                claims.append(claim_of(task_id, record, self._clock, self._host))
        return claims

    def stats(self, paused: str | None) -> Stats:
        counts = Counter(self._states())
        states = {str(state): counts[state] for state in State}
        found = {state: count for state, count in states.items() if count}
        workers = len({claim.worker for claim in self.claims()})
        return Stats(states=states, priorities={50: found} if found else {}, workers=workers, paused=paused)

    def detail(self, known: Known, paused: str | None) -> Detail:
        cell, past = known.cell, known.past
        errors = [event.error for event in past.history if event.error]
        completed = cell.state is State.COMPLETED
        last = past.history[-1] if completed and past.history else None
        return Detail(
            task=known.task,
            due=cell.due or None,
            claim=claim_of(known.task.id, known.lease, self._clock, self._host) if known.lease else None,
            history=past.history,
            result=last.result if last and last.what == "completed" else None,
            error=errors[-1] if errors and not completed else "",
            ended_at=past.ended or None,
            paused=paused,
        )

    def _lease(self, task_id: str) -> Record | None:
        return self._record(lease_key(task_id))

    def _record(self, key: str) -> Record | None:
        try:
            found = self._leases.read(key)
        except BadInput:
            return None
        return found.record if found else None


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
