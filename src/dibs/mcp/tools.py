"""The tools: what each does with the queues and with what the client holds. Nothing here knows the protocol."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from dibs.clock import iso
from dibs.errors import BadInput
from dibs.mcp import answers, asked
from dibs.mcp.holding import Holding
from dibs.mcp.places import Opened, Places
from dibs.queues.held import Lease
from dibs.task import NewTask

_PUSH_SETTINGS = ("max_attempts", "max_deaths", "max_runtime", "backoff", "max_backoff")


@dataclass(frozen=True)
class Desk:
    """One client's end of the queues."""

    places: Places
    holding: Holding


A = TypeVar("A", bound=asked.Asked)


@dataclass(frozen=True)
class Tool(Generic[A]):
    """`run` may be called from several threads. `undo` takes back what a call did whose answer nobody waits for."""

    name: str
    title: str
    description: str
    asked: type[A]
    answer: Any
    run: Callable[[Desk, A], Any]
    reads: bool = False
    undo: Callable[[Desk, Any], None] | None = None


def _list(desk: Desk, ask: asked.Listed) -> answers.Lines:
    return _lines(desk.places.use(ask.queue), ask, ask.state)


def _ready(desk: Desk, ask: asked.Ready) -> answers.Lines:
    return _lines(desk.places.use(ask.queue), ask, "ready")


def _lines(at: Opened, ask: asked.Ready, state: str | None) -> answers.Lines:
    found = list(at.queue.tasks(state, project=ask.project, labels=tuple(ask.labels), limit=ask.limit + 1))
    shown = found[: ask.limit]
    more = 0 if len(found) == len(shown) else _more(at, ask, state, len(shown))
    return {"queue": at.name, "tasks": [answers.line(task) for task in shown], "more": more}


def _more(at: Opened, ask: asked.Ready, state: str | None, shown: int) -> int | None:
    """How many more, where the queue's counts say so: they are kept by state, and by one project or label."""
    stats = at.queue.stats()
    if ask.project is None and not ask.labels:
        counts = stats.states
    elif not ask.labels:
        counts = stats.projects.get(ask.project or "", {})
    elif ask.project is None and len(ask.labels) == 1:
        counts = stats.labels.get(ask.labels[0], {})
    else:
        return None
    return max(1, (sum(counts.values()) if state is None else counts.get(state, 0)) - shown)


def _show(desk: Desk, ask: asked.One) -> answers.Shown:
    at = desk.places.use(ask.queue)
    detail = at.queue.detail(ask.id)
    return answers.shown(at, detail, held_here=any(lease.id == detail.task.id for lease in desk.holding.held(at)))


def _why(desk: Desk, ask: asked.One) -> answers.Reason:
    at = desk.places.use(ask.queue)
    why = at.queue.why(ask.id)
    ready_at = None if why.ready_at is None else iso(why.ready_at)
    return {"queue": at.name, "id": why.id, "state": str(why.state), "text": why.text, "ready_at": ready_at}


def _add(desk: Desk, ask: asked.Add) -> answers.Added:
    payload = _payload(ask)
    at = desk.places.use(ask.queue, create=True)
    new = NewTask(
        payload=payload,
        key=ask.key,
        priority=ask.priority,
        project=ask.project,
        labels=ask.labels,
        after=ask.after,
        **{name: at.place.setting(name) for name in _PUSH_SETTINGS},
    )
    task = at.queue.push_many([new])[0]
    return {
        "queue": at.name,
        "id": task.id,
        "key": task.key,
        "state": str(task.state),
        "duplicate": task.duplicate,
    }


def _payload(ask: asked.Add) -> Any:
    if ask.title is None and ask.body is None:
        if "payload" not in ask.model_fields_set and ask.key is None:
            raise BadInput("there is nothing to add; give a title (and body), or a payload")
        return ask.payload
    if "payload" in ask.model_fields_set:
        raise BadInput("payload and title or body do not go together; put the title into the payload")
    if not ask.title:
        raise BadInput("a body needs a title; say in a line what is to be done")
    return {"title": ask.title} | ({} if ask.body is None else {"body": ask.body})


def _claim(desk: Desk, ask: asked.Claim) -> answers.Claimed:
    at = desk.places.use(ask.queue)
    ttl = at.place.setting("ttl") if ask.ttl is None else ask.ttl
    filters = {"project": ask.project, "labels": tuple(ask.labels), "max_priority": ask.max_priority}
    lease = desk.holding.claim(at, float(ttl), filters)
    if lease is not None:
        note = "yours while this session lives: complete_task, fail_task or release_task it, with this id and epoch"
        return {"queue": at.name, "task": answers.work(lease), "note": note}
    paused = at.queue.paused
    why = "nothing is ready that fits" if paused is None else f"the queue is paused{f': {paused}' if paused else ''}"
    return {"queue": at.name, "task": None, "note": f"nothing to claim: {why}"}


def _unclaim(desk: Desk, answer: answers.Claimed) -> None:
    at = desk.places.use(answer["queue"])
    for lease in desk.holding.held(at):
        if answer["task"] is not None and lease.id == answer["task"]["id"]:
            desk.holding.give_back(at, lease)


def _renew(desk: Desk, ask: asked.Held) -> answers.Stepped:
    at = desk.places.use(ask.queue)
    lease = desk.holding.renew(at, ask.id, ask.epoch)
    return _stepped(at, ask, "renewed", iso(lease.expires_at))


def _complete(desk: Desk, ask: asked.Complete) -> answers.Stepped:
    return _finish(desk, ask, "completed", lambda lease: lease.complete(ask.result))


def _fail(desk: Desk, ask: asked.Fail) -> answers.Stepped:
    return _finish(desk, ask, "failed", lambda lease: lease.fail(ask.error, retry=ask.retry))


def _release(desk: Desk, ask: asked.Release) -> answers.Stepped:
    return _finish(desk, ask, "released", lambda lease: lease.release(ask.delay))


def _finish(desk: Desk, ask: asked.Held, outcome: str, step: Callable[[Lease], None]) -> answers.Stepped:
    at = desk.places.use(ask.queue)
    desk.holding.finish(at, ask.id, ask.epoch, step)
    return _stepped(at, ask, outcome)


def _stepped(at: Opened, ask: asked.Held, outcome: str, expires_at: str | None = None) -> answers.Stepped:
    return {"queue": at.name, "id": ask.id, "epoch": ask.epoch, "outcome": outcome, "expires_at": expires_at}


def _stats(desk: Desk, ask: asked.Asked) -> answers.Counts:
    at = desk.places.use(ask.queue)
    stats = at.queue.stats()
    return {
        "queue": at.name,
        "states": dict(stats.states),
        "total": stats.total,
        "priorities": answers.largest(stats.priorities),
        "projects": answers.largest(stats.projects),
        "labels": answers.largest(stats.labels),
        "workers": stats.workers,
        "paused": stats.paused,
        "held": [
            {"id": lease.id, "epoch": lease.epoch, "key": lease.key, "summary": answers.summary(lease.payload)}
            for lease in desk.holding.held(at)
        ],
        "queues": desk.places.names,
    }


TOOLS: tuple[Tool[Any], ...] = (
    Tool(
        "list_tasks",
        "List tasks",
        "List tasks of a queue, in about the order in which they would run, finished ones last: one line each, "
        "without payloads (show_task has them). Filter by state, project and labels.",
        asked.Listed,
        answers.Lines,
        _list,
        reads=True,
    ),
    Tool(
        "ready_tasks",
        "List ready tasks",
        "List the tasks that claim_task could take now, best first. Looking takes nothing: claim before you work.",
        asked.Ready,
        answers.Lines,
        _ready,
        reads=True,
    ),
    Tool(
        "show_task",
        "Show a task",
        "Everything known about one task: payload, state, who holds it, how its leases ended, result or error.",
        asked.One,
        answers.Shown,
        _show,
        reads=True,
    ),
    Tool(
        "why_task",
        "Why does a task not run?",
        "What keeps a task from running, in a line or two: who holds it, what it waits for, a pause, an error.",
        asked.One,
        answers.Reason,
        _why,
        reads=True,
    ),
    Tool(
        "add_task",
        "Add a task",
        "Add a task to a queue for anybody to claim: title and body, or a payload of any JSON. It is stored safely "
        "when this returns. With a key, adding the same thing twice is one task.",
        asked.Add,
        answers.Added,
        _add,
    ),
    Tool(
        "claim_task",
        "Claim a task",
        "Take the right to work on the best ready task, so that nobody else does; null when there is none. It is "
        "renewed by itself while this session lives and goes back to the queue when the session ends. Finish it with "
        "complete_task, fail_task or release_task, giving the id and epoch from here.",
        asked.Claim,
        answers.Claimed,
        _claim,
        undo=_unclaim,
    ),
    Tool(
        "renew_task",
        "Renew a claim",
        "Check that a claimed task is still yours, and hold it for longer. Seldom needed: claims are renewed by "
        "themselves. An error says that it is lost, and who has it: then stop working on it.",
        asked.Held,
        answers.Stepped,
        _renew,
    ),
    Tool(
        "complete_task",
        "Complete a task",
        "A claimed task is done, once and for all. Refused when the claim was lost meanwhile.",
        asked.Complete,
        answers.Stepped,
        _complete,
    ),
    Tool(
        "fail_task",
        "Fail a task",
        "A claimed task did not work: one attempt more. It is tried again later until its attempts are used up, or "
        "not at all with retry false.",
        asked.Fail,
        answers.Stepped,
        _fail,
    ),
    Tool(
        "release_task",
        "Release a task",
        "Give a claimed task back untouched, for somebody else to take; it counts as no attempt.",
        asked.Release,
        answers.Stepped,
        _release,
    ),
    Tool(
        "queue_stats",
        "Count tasks",
        "Counts by state, priority, project and label; what this session holds, with ids and epochs; and the queues "
        "that are served here.",
        asked.Asked,
        answers.Counts,
        _stats,
        reads=True,
    ),
)
