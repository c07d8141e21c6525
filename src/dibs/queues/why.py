"""Why a task does not run, in a line or two. Pure: from what is known to words."""

from dibs.clock import iso
from dibs.facets import Filter, facet_of
from dibs.queues.views import Claim, Detail, Why
from dibs.states import State


def explain(detail: Detail, now: float, wall: float, wanted: Filter) -> Why:
    """`now` by the store's clock, on which delays are; `wall` by this host's, on which a claim's times are shown."""
    task = detail.task
    text, ready_at = _BY_STATE[task.state](detail, wall if task.state is State.CLAIMED else now)
    if task.state in (State.READY, State.SCHEDULED, State.BLOCKED):
        if detail.paused is not None:
            text += f"\nthe queue is paused{f': {detail.paused}' if detail.paused else ''}; `dibs resume` lets it run"
        if not wanted(facet_of(task)):
            text += "\nthe given filter leaves it out: " + _mismatch(detail, wanted)
    return Why(id=task.id, state=task.state, text=text, ready_at=ready_at)


def _ready(detail: Detail, now: float) -> tuple[str, float | None]:
    tries = f", {detail.task.attempts} of {detail.task.max_attempts} attempts used" if detail.task.attempts else ""
    return f"ready at priority {detail.task.priority}{tries}; the next free worker may take it", None


def _scheduled(detail: Detail, now: float) -> tuple[str, float | None]:
    due = detail.due or detail.task.not_before or now
    reason = f"retry after failed attempt {detail.task.attempts}" if detail.task.attempts else "scheduled"
    error = f" ({detail.error})" if detail.error and detail.task.attempts else ""
    if due <= now:
        return f"{reason}{error}: due since {iso(due)}; the next claim makes it ready", due
    return f"{reason}{error}: ready at {iso(due)}, in {seconds(due - now)}", due


def _blocked(detail: Detail, now: float) -> tuple[str, float | None]:
    open_ones = [(ref, state) for ref, state in detail.waits_for if state != State.COMPLETED]
    if not open_ones:
        return "everything it waited for is completed; the next claim makes it ready", None
    hints = {
        State.FAILED: "failed: `dibs retry` it, or cancel this task",
        State.CANCELLED: "cancelled: `dibs retry` it, or cancel this task",
        "unknown": "not in the queue (never pushed, or purged): push it, or cancel this task",
    }
    return "waits for " + "; ".join(f"{ref}, which is {hints.get(state, state)}" for ref, state in open_ones), None


def _claimed(detail: Detail, now: float) -> tuple[str, float | None]:
    claim = detail.claim
    if claim is None:
        return "claimed", None
    where = held_by(claim)
    if claim.ttl and claim.expires_at <= now:
        return (
            f"the lease of {where}, epoch {claim.epoch}, ran out at {iso(claim.expires_at)}; "
            f"last heartbeat {iso(claim.heartbeat_at)}; the next claim takes it over",
            None,
        )
    return (
        f"held by {where}, epoch {claim.epoch}, since {iso(claim.claimed_at)}; "
        f"last heartbeat {iso(claim.heartbeat_at)}, expires {iso(claim.expires_at)} unless renewed",
        None,
    )


def held_by(claim: Claim) -> str:
    """The worker, where it is, and through which daemon it claims."""
    pid = f" pid {claim.pid}" if claim.pid else ""
    return f"{claim.worker} on {claim.host}{pid}" + (f" via {claim.via}" if claim.via else "")


def _completed(detail: Detail, now: float) -> tuple[str, float | None]:
    return f"completed at epoch {detail.task.epoch}{_when(detail)}", None


def _failed(detail: Detail, now: float) -> tuple[str, float | None]:
    task = detail.task
    return (
        f"failed{_when(detail)} after {task.attempts} of {task.max_attempts} attempts and {task.deaths} of "
        f"{task.max_deaths} worker deaths: {detail.error or 'no error given'}; `dibs retry` puts it back",
        None,
    )


def _cancelled(detail: Detail, now: float) -> tuple[str, float | None]:
    return f"cancelled{_when(detail)}; `dibs retry` puts it back", None


_BY_STATE = {
    State.READY: _ready,
    State.SCHEDULED: _scheduled,
    State.BLOCKED: _blocked,
    State.CLAIMED: _claimed,
    State.COMPLETED: _completed,
    State.FAILED: _failed,
    State.CANCELLED: _cancelled,
}


def _when(detail: Detail) -> str:
    return "" if detail.ended_at is None else f" at {iso(detail.ended_at)}"


def _mismatch(detail: Detail, wanted: Filter) -> str:
    task = detail.task
    reasons = []
    if wanted.project is not None and task.project != wanted.project:
        reasons.append(f"its project is {task.project or 'none'}, not {wanted.project}")
    if missing := sorted(wanted.labels - set(task.labels)):
        reasons.append(f"it lacks label {', '.join(missing)}")
    if wanted.max_priority is not None and task.priority > wanted.max_priority:
        reasons.append(f"its priority {task.priority} is above {wanted.max_priority}")
    return "; ".join(reasons)


def seconds(duration: float) -> str:
    """A duration for people: 0.4 s, 12 s, 3 min 20 s, 2 h 5 min, 3 d 4 h."""
    if duration < 10:
        return f"{max(duration, 0):.1f} s"
    whole = round(duration)
    for size, name, part, part_name in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            return f"{whole // size} {name} {whole % size // part} {part_name}"
    return f"{whole} s"
