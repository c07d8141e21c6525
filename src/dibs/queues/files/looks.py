"""What a file queue shows: tasks, leases and details put together from names, records and notes."""

from collections.abc import Iterator, Mapping

from dibs.errors import BadInput
from dibs.facets import Filter
from dibs.liveness import Holder
from dibs.queues.files.finder import ORDER, Finder, Found
from dibs.queues.files.parts import Parts
from dibs.queues.views import Claim, Detail
from dibs.states import TERMINAL, State
from dibs.task import Task


def tasks(finder: Finder, state: str | None, wanted: Filter, limit: int | None) -> Iterator[Task]:
    if state is not None and state not in list(State):
        raise BadInput(f"state {state!r} is not known; use one of {', '.join(State)}")
    shown = 0
    for kind in ORDER if state is None else (State(state),):
        for found in finder.find(kind, wanted):
            if limit is not None and shown >= limit:
                return
            try:
                task = finder.read(found)
            except FileNotFoundError:
                continue  # it moved on; where it went it may be seen again
            except BadInput as error:
                task = damaged(found, error)
            shown += 1
            yield task


def damaged(found: Found, error: BadInput) -> Task:
    """What can be shown of a task whose file cannot be read."""
    return Task(id=found.name.id, payload={"damaged": str(error)}, priority=found.name.priority).standing(found.cell)


def claims(parts: Parts, holders: Mapping[str, Holder]) -> list[Claim]:
    shown = []
    for found in parts.finder.find(State.CLAIMED):
        try:
            task = parts.finder.read(found)
            shown.append(claim_of(parts, found, task, holders.get(found.name.extra)))
        except (FileNotFoundError, BadInput):
            continue  # just finished, or damaged: then nobody can hold it for long
    return shown


def claim_of(parts: Parts, found: Found, task: Task, holder: Holder | None) -> Claim:
    """The times are the file server's; only the age of a beat of this boot is exact."""
    claimed_at = parts.fs.times(found.path)[1]
    ttl = holder.ttl if holder else 0.0
    if holder is None:
        heartbeat = claimed_at
    elif holder.boot == parts.host.boot:
        heartbeat = parts.clock.wall() - (parts.clock.boottime() - holder.beat)
    else:
        heartbeat = parts.fs.times(parts.layout.session(holder.session))[0]
    return Claim(
        id=task.id,
        key=task.key,
        epoch=found.name.epoch,
        worker=found.name.extra,
        host=holder.host if holder else "unknown",
        pid=holder.pid if holder else None,
        claimed_at=claimed_at,
        heartbeat_at=heartbeat,
        expires_at=heartbeat + ttl,
        ttl=ttl,
    )


def detail(
    parts: Parts,
    found: Found,
    task: Task,
    waits_for: tuple[tuple[str, str], ...],
    holders: Mapping[str, Holder],
    paused: str | None,
) -> Detail:
    cell = found.cell
    history = parts.notes.history(task.id, cell)
    failures = [event for event in history if event.error]
    result = parts.notes.result(task.id, cell) if cell.state is State.COMPLETED else None
    claim = None
    ended_at = None
    try:
        if cell.state is State.CLAIMED:
            claim = claim_of(parts, found, task, holders.get(cell.holder))
        if cell.state in TERMINAL:
            ended_at = parts.fs.times(found.path)[1]
    except FileNotFoundError:
        pass  # it moved on while we looked
    return Detail(
        task=task,
        due=cell.due or None,
        claim=claim,
        history=history,
        result=result.result if result else None,
        error=failures[-1].error if failures and cell.state is not State.COMPLETED else "",
        ended_at=ended_at,
        waits_for=waits_for,
        paused=paused,
    )
