"""What SQS has no way to do, each refused with what to use instead."""

from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from dibs.errors import Unsupported
from dibs.queues.queue import Queue
from dibs.queues.views import Claim, Detail, Why
from dibs.states import State
from dibs.task import Task

_DEFAULTS = Task(id="")
_OTHERS = "a file:, s3: or database queue"
_PER_TASK = {
    "key": f"keep keys unique; use {_OTHERS}",
    "priority": "order by priority; use a queue for each priority",
    "project": "filter by project; use a queue for each project",
    "labels": "filter by labels; use a queue for each label",
    "after": f"wait for other tasks; push when they are done, or use {_OTHERS}",
}


def check_pushed(task: Task) -> None:
    """Unsupported when it asks for what SQS does not have."""
    for field, instead in _PER_TASK.items():
        if getattr(task, field) != getattr(_DEFAULTS, field):
            raise Unsupported(f"sqs cannot {instead}")


def cannot(what: str, instead: str) -> NoReturn:
    raise Unsupported(f"sqs cannot {what}; {instead}")


class Limited(Queue):
    """The methods of a queue whose tasks nobody can look at."""

    def get(self, ref: str) -> Task:
        cannot("find a task by its id", f"use {_OTHERS}, or look into the queue in the AWS console")

    def tasks(
        self,
        state: str | None = None,
        *,
        project: str | None = None,
        labels: Iterable[str] = (),
        limit: int | None = None,
    ) -> Iterator[Task]:
        cannot("list its tasks", "`dibs stats` counts them; the AWS console shows some")

    def claimed(self) -> list[Claim]:
        cannot("say who holds what", "`dibs stats` counts what is held")

    def detail(self, ref: str) -> Detail:
        cannot("show a task", f"use {_OTHERS}, or look into the queue in the AWS console")

    def why(self, ref: str, **filters: Any) -> Why:
        cannot("say why a task waits", "`dibs stats` counts what is ready, held and delayed")

    def cancel(self, ref: str) -> Task:
        cannot("cancel a task", "claim it and complete it, or let its worker decide by the payload")

    def retry(self, ref: str) -> Task:
        cannot("retry a task by its id", "move the dead-letter queue back with `aws sqs start-message-move-task`")

    def _prioritise(self, ref: str, priority: int) -> Task:
        cannot("change a task's priority", "use a queue for each priority")

    def pause(self, reason: str = "") -> None:
        cannot("pause a queue", "stop the workers; what is pushed waits")

    def resume(self) -> None:
        cannot("pause or resume a queue", "start and stop the workers")

    @property
    def paused(self) -> str | None:
        return None

    def purge(self, state: State | str = State.COMPLETED, *, older_than: float = 3600.0) -> int:
        cannot("purge by age", "completed tasks are gone at once, failed ones when the dead-letter queue forgets them")
