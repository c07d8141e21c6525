"""A lease in the hand of its holder: the right to work on one task until it expires."""

from types import TracebackType
from typing import TYPE_CHECKING, Any

from dibs.errors import LeaseLost, StorageError
from dibs.states import Cell
from dibs.task import Task, task_from_record

if TYPE_CHECKING:
    from dibs.queues.queue import Queue


class Lease:
    """One task, held at one epoch.

    Every step is refused with `LeaseLost`, and changes nothing, once somebody else may hold the task.
    As a context manager the lease is renewed by a process of its own while held, completed on exit
    (with `result`, if set) and failed on an exception, unless the block finished it itself.
    """

    __slots__ = (
        "_task", "deadline", "epoch", "id", "key", "payload", "queue",
        "result", "since", "state", "token", "ttl", "worker",
    )  # fmt: skip

    def __init__(
        self,
        queue: "Queue",
        task: Task | tuple[dict[str, Any], Cell],
        epoch: int,
        worker: str,
        ttl: float,
        deadline: float,
        since: float,
        token: Any,
    ) -> None:
        """`task` may be given as its checked record and cell: the Task is then made when somebody asks for it."""
        self.queue = queue
        self._task = task
        if type(task) is tuple:
            record = task[0]
            self.id, self.payload, self.key = record["id"], record["payload"], record.get("key")
        else:
            assert isinstance(task, Task)
            self.id, self.payload, self.key = task.id, task.payload, task.key
        self.epoch = epoch
        self.worker = worker
        self.ttl = ttl
        self.deadline = deadline  # on this host's boottime clock
        self.since = since  # on the same clock: when it was claimed
        self.token = token  # the backend's own: the exact version that is held
        self.result: Any = None
        self.state = "held"

    @property
    def task(self) -> Task:
        if not isinstance(self._task, Task):
            self._task = task_from_record(*self._task)
        return self._task

    @property
    def held(self) -> bool:
        """True while nobody else can hold the task, by this host's own clock."""
        if self.state != "held":
            return False
        now = self.queue.clock.boottime()
        if now >= self.deadline:
            try:
                self.deadline = max(self.deadline, self.queue.kept_until(self))
            except StorageError:
                return False  # nobody can tell whether it was kept
        over = self.task.max_runtime is not None and now >= self.since + self.task.max_runtime
        return now < self.deadline and not over

    @property
    def expires_at(self) -> float:
        """When it runs out unless renewed; wall time, for people."""
        clock = self.queue.clock
        return clock.wall() + self.deadline - clock.boottime()

    def renew(self) -> None:
        """Hold it for another TTL from now. A renewal that comes too late is never sent."""
        self._step("renew")
        self.queue.renew(self)

    def complete(self, result: Any = None) -> None:
        """Done, once and for all; `result` (JSON) is kept with it."""
        if self.state != "held":
            self._step("complete")
        self.queue.complete(self, result)
        self.state = "completed"

    def release(self, delay: float = 0.0) -> None:
        """Give it back untouched; it counts as no attempt."""
        self._step("release")
        self.queue.release(self, delay)
        self.state = "released"

    def fail(self, error: object = "", *, retry: bool = True) -> None:
        """It did not work: one attempt more. Out of attempts, or with retry=False, it is dead-lettered."""
        self._step("fail")
        self.queue.fail(self, str(error), retry=retry)
        self.state = "failed"

    def _step(self, step: str) -> None:
        if self.state != "held":
            raise LeaseLost(f"cannot {step} task {self.id}: its lease (epoch {self.epoch}) is already {self.state}")

    def __enter__(self) -> "Lease":
        self.queue.keep(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self.state == "lost" and error is None:
                self._step("complete")  # raises: the block must learn that its work is not recorded
            if self.state != "held":
                return
            if error is None:
                self.complete(self.result)
            elif isinstance(error, Exception) and not isinstance(error, LeaseLost):
                self.fail(f"{type(error).__name__}: {error}")
            else:
                self._let_go()
        finally:
            self.queue.unkeep(self)

    def _let_go(self) -> None:
        """Interrupted, or already lost: give it back if it is still ours, and let the cause go on."""
        try:
            self.release()
        except LeaseLost:
            self.state = "lost"

    def __repr__(self) -> str:
        return f"<Lease {self.id} epoch {self.epoch} {self.state} by {self.worker}>"
