"""The refusal of a step whose lease no longer holds, in the same words on every backend."""

from dibs.errors import LeaseLost
from dibs.states import State


def refused(task_id: str, epoch: int, state: str = "", now: int = 0, holder: str = "") -> LeaseLost:
    """`state`, its epoch `now` and the holder are those of the task, as far as it is still there."""
    if state == State.COMPLETED and now == epoch:
        what = f"already completed at epoch {epoch}"
        return LeaseLost(f"lease lost: task {task_id} is {what}; that is recorded, and nothing was changed")
    if not state:
        what = "no longer in the queue"
    elif state != State.CLAIMED:
        what = f"now {state} (epoch {now})"
    elif now == epoch:
        what = "past its time"
    else:
        what = f"now held by {holder} (epoch {now})"
    return not_recorded(task_id, epoch, what)


def not_recorded(task_id: str, epoch: int, what: str) -> LeaseLost:
    return LeaseLost(f"lease lost: task {task_id} is {what}; work done here at epoch {epoch} is not recorded")
