"""Two queues and what is on its way between them: every task in one place, and in one only."""

from collections import Counter

from dibs.queues.queue import Queue
from dibs.states import State


def sum_up(source: Queue, target: Queue, ids: set[str]) -> None:
    here = Counter(task.id for task in source.tasks() if task.state is not State.COMPLETED)
    there = Counter(task.id for task in target.tasks())
    on_the_way = Counter(parcel.id for parcel in source.gate().departed())
    for task_id in ids:
        places = (here[task_id], on_the_way[task_id], there[task_id])
        # Marked here and there already: the mover died before it could delete it here. Nobody can claim it here.
        assert places in ((1, 0, 0), (0, 1, 0), (0, 1, 1), (0, 0, 1)), f"task {task_id}: {places}"
    strangers = (set(here) | set(there) | set(on_the_way)) - ids
    done = {task.id for task in source.tasks(State.COMPLETED)}
    assert strangers <= done, f"nobody pushed {strangers - done}"
