"""Steps that are asked for again because the answer was lost, when nobody remembers the answer (a restart).

Only one holder has the epoch, so what the task's history says of it is what that holder did.
"""

from dibs.errors import DibsError
from dibs.queues.queue import Queue
from dibs.states import State

_ENDS = {"complete": "completed", "fail": "failed"}


def was_done(queue: Queue, step: str, task_id: str, epoch: int) -> bool:
    """Whether the step of that epoch has happened. False when that cannot be known."""
    try:
        detail = queue.detail(task_id)
    except DibsError:
        return False
    said = [event.what for event in detail.history if event.epoch == epoch]
    if step in _ENDS:
        return _ENDS[step] in said
    if step == "release":  # leaves no word: any other end of the lease does
        return not said and (detail.task.state in (State.READY, State.SCHEDULED) or detail.task.epoch > epoch)
    return False
