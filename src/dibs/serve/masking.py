"""Secrets that are hidden by their key, at any depth, from whoever lists or searches."""

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import Any

from dibs.task import Task
from dibs.values import replace

HIDDEN = "•••"
Hide = Callable[[str], bool]


def hiding(names: Iterable[str]) -> Hide:
    """Whether a key is one of `names`, in whatever case; `*` stands for anything."""
    patterns = [name.lower() for name in names]
    return lambda key: any(fnmatchcase(key.lower(), pattern) for pattern in patterns)


class Masking:
    """False when nothing is hidden; then everything is given back as it was."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = tuple(sorted(names))
        self.hide = hiding(self.names)

    def __bool__(self) -> bool:
        return bool(self.names)

    def task(self, task: Task) -> Task:
        return replace(task, payload=self.value(task.payload)) if self else task

    def record(self, record: dict[str, Any]) -> dict[str, Any]:
        """A task as JSON."""
        return {**record, "payload": self.value(record["payload"])} if self else record

    def detail(self, record: dict[str, Any]) -> dict[str, Any]:
        """All of a task as JSON, with what came of it."""
        if not self:
            return record
        history = [
            {**event, "result": self.value(event["result"])} if "result" in event else event
            for event in record["history"]
        ]
        task, result = self.record(record["task"]), self.value(record["result"])
        return {**record, "task": task, "result": result, "history": history}

    def value(self, value: Any) -> Any:
        try:
            return self._value(value) if self else value
        except RecursionError:
            return HIDDEN

    def _value(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: HIDDEN if self.hide(str(key)) else self._value(held) for key, held in value.items()}
        return [self._value(item) for item in value] if isinstance(value, list | tuple) else value


NOTHING_HIDDEN = Masking()
