"""What a worker is to do: the settings of `dibs work`, as its runners get them."""

from dataclasses import asdict, dataclass, fields
from typing import Any

from dibs.errors import BadInput

MOST_AT_ONCE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Exactly one of `command` and `call` is given."""

    url: str
    command: tuple[str, ...] = ()
    call: str = ""
    ttl: float = 60.0
    timeout: float | None = None
    project: str | None = None
    labels: tuple[str, ...] = ()
    max_priority: int | None = None
    until_empty: bool = False
    max_tasks: int | None = None
    batch: int = 1  # tasks that are claimed together, and completed together
    show_output: bool = False
    every_event: bool = False  # tell the supervisor of each task, not only of trouble

    def checked(self) -> "Job":
        """BadInput when it cannot be done."""
        from dibs.worker.template import check_command

        if bool(self.command) == bool(self.call):
            raise BadInput("give either a command after --, or --call MODULE:FUNCTION")
        if self.command:
            check_command(self.command)
        elif not all(self.call.partition(":")):
            raise BadInput(f"--call {self.call!r} is not acceptable; write MODULE:FUNCTION, such as app.jobs:resize")
        if self.timeout is not None and self.timeout <= 0:
            raise BadInput(f"timeout {self.timeout} is not acceptable; use seconds above 0")
        if self.max_tasks is not None and self.max_tasks < 1:
            raise BadInput(f"max-tasks {self.max_tasks} is not acceptable; use a whole number from 1")
        if not 1 <= self.batch <= MOST_AT_ONCE:
            raise BadInput(f"batch {self.batch} is not acceptable; use a whole number from 1 to {MOST_AT_ONCE}")
        if self.batch > 1 and self.max_tasks is not None:
            raise BadInput("--batch and --max-tasks do not go together; leave one out")
        return self

    def to_message(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def filters(self) -> dict[str, Any]:
        return {"project": self.project, "labels": self.labels, "max_priority": self.max_priority}


def job_from_message(message: dict[str, Any]) -> Job:
    known = {field.name: message[field.name] for field in fields(Job) if field.name in message}
    return Job(**{**known, "command": tuple(known["command"]), "labels": tuple(known["labels"])})
