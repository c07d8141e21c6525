"""What a file queue shows: tasks, leases and details put together from names, records and notes."""

from collections.abc import Iterator, Mapping

from dibs.clock import Clock
from dibs.errors import BadInput
from dibs.facets import Filter
from dibs.host import Host
from dibs.keys import Keys
from dibs.liveness import Holder
from dibs.queues.files.finder import ORDER, Finder, Found
from dibs.queues.files.fs import Fs
from dibs.queues.files.layout import Layout
from dibs.queues.files.notes import Notes
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
                task = Task(id=found.name.id, payload={"damaged": str(error)}).standing(found.cell)
            shown += 1
            yield task


def claims(fs: Fs, finder: Finder, holders: Mapping[str, Holder], host: Host, clock: Clock) -> list[Claim]:
    shown = []
    for found in finder.find(State.CLAIMED):
        try:
            task = finder.read(found)
            shown.append(claim_of(fs, found, task, holders.get(found.name.extra), host, clock))
        except (FileNotFoundError, BadInput):
            continue  # just finished, or damaged: then nobody can hold it for long
    return shown


def claim_of(fs: Fs, found: Found, task: Task, holder: Holder | None, host: Host, clock: Clock) -> Claim:
    """The times are the file server's; only the age of a beat of this boot is exact."""
    claimed_at = fs.times(found.path)[1]
    ttl = holder.ttl if holder else 0.0
    if holder is not None and holder.boot == host.boot:
        heartbeat = clock.wall() - (clock.boottime() - holder.beat)
    elif holder is not None:
        heartbeat = fs.times(found.path.partition("/leased/")[0] + f"/workers/{holder.session}.json")[0]
    else:
        heartbeat = claimed_at
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
    fs: Fs,
    found: Found,
    task: Task,
    notes: Notes,
    waits_for: tuple[tuple[str, str], ...],
    holders: Mapping[str, Holder],
    host: Host,
    clock: Clock,
    paused: str | None,
) -> Detail:
    cell = found.cell
    history = notes.history(task.id, cell)
    failures = [event for event in history if event.error]
    result = notes.result(task.id, cell) if cell.state is State.COMPLETED else None
    claim = None
    ended_at = None
    try:
        if cell.state is State.CLAIMED:
            claim = claim_of(fs, found, task, holders.get(cell.holder), host, clock)
        if cell.state in TERMINAL:
            ended_at = fs.times(found.path)[1]
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


def remove_ended(
    fs: Fs, finder: Finder, notes: Notes, keys: Keys, layout: Layout, state: State, folder: str, before: float
) -> int:
    """Delete the tasks of one folder that ended before a time: first what hangs on them, the task itself last."""
    removed = 0
    place = layout.folder(f"notes/{folder.rpartition('/')[2]}")
    written = notes.by_task(place)
    for found in finder.in_folder(state, folder):
        try:
            if fs.times(found.path)[1] > before:
                continue
            task = finder.read(found)
            if task.key is not None:
                keys.forget(task.key, task.id)
        except FileNotFoundError:
            continue  # retried, or removed by somebody else
        except BadInput:
            continue  # damaged: a person should look at it first
        for text in written.get(found.name.id, ()):
            notes.take_back(f"{place}/{text}")
        fs.unlink(found.path)
        removed += 1
    return removed
