"""One of the cast: who steers tasks that others hold."""

from functools import partial

from dibs.errors import Refused, TaskNotFound, Unsupported
from dibs.queues.queue import Queue
from dibs.states import State

from .actors import open_queue
from .hands import attempt
from .stage import Stage
from .world import LATEST, Process, Violation


class Meddler:
    """Cancels, retries, changes priorities, looks, purges."""

    def __init__(
        self, stage: Stage, rounds: int, *, purges: float, pace: float = 1.5, latest: int = 0, orders: float = 0.2
    ) -> None:
        self._stage = stage
        self._rounds = rounds
        self._purges = purges  # the share of rounds that are purges
        self._pace = pace  # TTLs between two rounds, at most
        self._latest = latest  # of how many pushed last one is chosen; 0: of all
        self._orders = orders  # the share of changes of priority in what is no purge

    def __call__(self, process: Process) -> None:
        stage, rng = self._stage, self._stage.rng
        queue = open_queue(stage, process)
        for _ in range(self._rounds):
            process.world.sleep(rng.random() * stage.ttl * self._pace)
            if queue is None or stage.closing:
                return
            if rng.random() < self._purges:
                older = rng.choice((0.0, 0.3, 1.0, 4.0, 12.0)) * stage.ttl
                if stage.world.doubles:  # the record of a task that is over must outlive what was sent about it
                    older = max(older, LATEST)
                stage.keyring.purging = True
                state = rng.choice((State.COMPLETED, State.CANCELLED, State.FAILED))
                attempt(process, partial(queue.purge, state, older_than=older))
            elif stage.pushed:
                self._meddle(process, queue, rng.choice(stage.pushed[-self._latest :]).id)

    def _meddle(self, process: Process, queue: Queue, task_id: str) -> None:
        rng, truth = self._stage.rng, self._stage.truth
        if rng.random() < self._orders:
            self._prioritise(process, queue, task_id)
            return
        dice = rng.random()
        if dice < 0.35:
            done = attempt(process, lambda: queue.cancel(task_id), Refused, TaskNotFound)
            if done is not None and not any(step.name == "cancel" for step in truth.steps[task_id]):
                raise Violation("untrue answer", f"{process} was told that {task_id} is cancelled")
        elif dice < 0.8:
            if attempt(process, lambda: queue.retry(task_id), Refused, TaskNotFound) is not None:
                self._stage.keyring.given(task_id)
        elif dice < 0.9:
            attempt(process, lambda: queue.why(task_id), TaskNotFound)
        else:
            attempt(process, lambda: (queue.stats(), queue.claimed(), list(queue.tasks())))

    def _prioritise(self, process: Process, queue: Queue, task_id: str) -> None:
        priority = self._stage.rng.choice((0, 50, 50, 100))
        known = (Refused, TaskNotFound, Unsupported)
        done = attempt(process, lambda: queue.set_priority(task_id, priority), *known)
        if done is not None and priority not in self._stage.truth.priorities[task_id]:
            raise Violation("untrue answer", f"{process} was told that {task_id} has priority {priority}")
