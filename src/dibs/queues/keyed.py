"""Whether a task that is to come in would find its key taken."""

from collections.abc import Callable, Iterable

from dibs.queues.parcel import Parcel
from dibs.states import LIVE, State


def taken(
    parcels: Iterable[Parcel], lookup: Callable[[str], str | None], state_of: Callable[[str], State | None]
) -> dict[str, str]:
    """By id, in words. Only live tasks hold keys; with unique="completed" a completed one is in the way too."""
    found = {}
    for parcel in parcels:
        task = parcel.task
        owner = lookup(task.key) if task.key is not None and parcel.state in LIVE else None
        if owner is None or owner == task.id:
            continue
        state = state_of(owner)
        if state in LIVE or (state is State.COMPLETED and task.unique == "completed"):
            found[task.id] = f"its key {task.key!r} is taken there by task {owner}, which is {state}"
    return found
