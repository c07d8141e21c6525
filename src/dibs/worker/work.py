"""What is done with one task: a command, or a Python function. How it went is a value, never an exception."""

from dataclasses import dataclass
from typing import Any, Protocol

from dibs.queues.held import Lease

ERROR_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Done:
    """It worked."""

    result: Any = None


@dataclass(frozen=True, slots=True)
class Failed:
    """It did not work; `retry` is false when another attempt could not go better. `misfit`: nothing has ever worked
    here, so the worker itself may be wrong, not the task."""

    error: str
    retry: bool = True
    misfit: bool = False


@dataclass(frozen=True, slots=True)
class GivenUp:
    """It was ended because its lease is over or the worker must leave."""

    why: str


class Slot(Protocol):
    def set_group(self, group: int) -> None:
        """The process group that works on the task, to be killed with the worker; 0 for none."""
        ...


class Work(Protocol):
    def do(self, lease: Lease, slot: Slot, limit: float | None) -> Done | Failed | GivenUp: ...

    def abandon(self, task_id: str, why: str) -> None:
        """End that task if it runs and can be ended, from another thread."""
        ...

    def leave(self, why: str) -> bool:
        """End everything and start nothing more, from another thread. False when that is not possible."""
        ...


def tail_of(text: str, limit: int = ERROR_BYTES) -> str:
    """The last `limit` bytes of an error text."""
    data = text.encode("utf-8", "replace")
    return text if len(data) <= limit else "…" + data[-limit:].decode("utf-8", "ignore")
