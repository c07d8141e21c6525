"""What a file queue shows: tasks, leases and details put together from names, records and notes."""

from collections.abc import Iterator, Mapping
from contextlib import suppress

from dibs.errors import BadInput
from dibs.facets import Filter
from dibs.liveness import Holder
from dibs.queues.behalf import SUFFIX, Behalf, named
from dibs.queues.behalf import read as read_behalf
from dibs.queues.files.due import Now, find_seen, once
from dibs.queues.files.finder import ORDER, Finder, Found
from dibs.queues.files.parts import Parts
from dibs.queues.views import Claim, Detail
from dibs.states import TERMINAL, State
from dibs.task import Task


def tasks(finder: Finder, state: str | None, wanted: Filter, limit: int | None, now: Now) -> Iterator[Task]:
    if state is not None and state not in list(State):
        raise BadInput(f"state {state!r} is not known; use one of {', '.join(State)}")
    kinds = ORDER if state is None else (State(state),)
    now = once(now)
    return shown(finder, (found for kind in kinds for found in find_seen(finder, kind, wanted, now)), limit)


def newest(parts: Parts, state: State, wanted: Filter, limit: int | None) -> Iterator[Task]:
    """What ended last first: every name is looked at for that."""

    def ended(found: Found) -> float:
        try:
            return parts.fs.times(found.path)[1]
        except FileNotFoundError:
            return 0.0

    found = sorted(parts.finder.find(state, wanted), key=ended, reverse=True)
    return shown(parts.finder, iter(found), limit)


def shown(finder: Finder, all_found: Iterator[Found], limit: int | None) -> Iterator[Task]:
    """Those that are found, read; at most so many."""
    count = 0
    for found in all_found:
        if limit is not None and count >= limit:
            return
        try:
            task = finder.read(found)
        except FileNotFoundError:
            continue  # it moved on; where it went it may be seen again
        except BadInput as error:
            task = damaged(found, error)
        count += 1
        yield task


def damaged(found: Found, error: BadInput) -> Task:
    """What can be shown of a task whose file cannot be read."""
    return Task(id=found.name.id, payload={"damaged": str(error)}, priority=found.name.priority).standing(found.cell)


def claims(parts: Parts, holders: Mapping[str, Holder]) -> list[Claim]:
    shown = []
    daemons = on_behalf(parts)
    for found in parts.finder.find(State.CLAIMED):
        try:
            task = parts.finder.read(found)
            shown.append(named_in(daemons, claim_of(parts, found, task, holders.get(found.name.extra))))
        except (FileNotFoundError, BadInput):
            continue  # just finished, or damaged: then nobody can hold it for long
    return shown


def claim_of(parts: Parts, found: Found, task: Task, holder: Holder | None) -> Claim:
    """When it was claimed is by the file server's clock; how old a beat is, is measured on one clock."""
    claimed_at = parts.fs.times(found.path)[1]
    ttl = holder.ttl if holder else 0.0
    if holder is None:
        heartbeat = claimed_at
    elif holder.boot == parts.host.boot:
        heartbeat = parts.clock.wall() - (parts.clock.boottime() - holder.beat)
    else:
        written = parts.fs.times(parts.layout.session(holder.session))[0]
        heartbeat = parts.clock.wall() - max(0.0, parts.store_time() - written)
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


def on_behalf(parts: Parts) -> list[Behalf]:
    """What daemons have noted of the workers that claim through them."""
    folder = parts.layout.folder("workers")
    said = []
    for text in parts.fs.listdir(folder):
        if text.endswith(SUFFIX):
            with suppress(OSError, BadInput):
                said.append(read_behalf(parts.fs.read(f"{folder}/{text}")))
    return said


def named_in(daemons: list[Behalf], claim: Claim) -> Claim:
    said = next((one for one in daemons if (claim.id, claim.epoch) in one.sessions), None)
    return claim if said is None else named(claim, said.sessions[claim.id, claim.epoch], said.via)


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
            claim = named_in(on_behalf(parts), claim_of(parts, found, task, holders.get(cell.holder)))
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
