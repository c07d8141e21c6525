"""Functions as tasks: a decorator that gives a function `push`, and a registry of such functions.

    import dibs

    @dibs.function("queues/images", max_attempts=5)
    def resize(path, width): ...

    resize.push("a.jpg", width=300)             # later, by `dibs work queues/images --call app:resize`
    resize.options(key="a.jpg").push("a.jpg", width=300)
    resize("a.jpg", width=300)                  # here and now

    tasks = dibs.Functions("queues/jobs")       # several functions in one queue: --call app:tasks

    @tasks.function(priority="high")
    def index(url): ...

The payload names the function and its arguments: {"function": "resize", "args": ["a.jpg"], "kwargs": {"width": 300}}.
A worker calls only what is registered; a payload can never make it import or call anything else.
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Generic, ParamSpec, TypeVar

from dibs.errors import BadInput
from dibs.queues import open_queue
from dibs.queues.held import Lease
from dibs.queues.queue import Queue
from dibs.task import NewTask, Task

P = ParamSpec("P")
R = TypeVar("R")
_OPTIONS = frozenset(field.name for field in fields(NewTask)) - {"payload"}


class TaskFunction(Generic[P, R]):
    """A function that can also be pushed. Calling it calls it."""

    def __init__(self, function: Callable[P, R], name: str, place: "_Place", options: Mapping[str, Any]) -> None:
        unknown = sorted(set(options) - _OPTIONS)
        if unknown:
            raise BadInput(f"option {unknown[0]!r} is not known; known: {', '.join(sorted(_OPTIONS))}")
        functools.update_wrapper(self, function)
        self.function = function
        self.name = name
        self._place = place
        self._options = dict(options)
        self._signature = inspect.signature(function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def push(self, *args: P.args, **kwargs: P.kwargs) -> Task:
        """Add a task that calls the function with these arguments. BadInput when it could not be called so."""
        return self._place.queue.push(self.payload(*args, **kwargs), **self._options)

    def options(self, **options: Any) -> "TaskFunction[P, R]":
        """The same function, pushed with these options of `Queue.push` (key, priority, delay, after …)."""
        return TaskFunction(self.function, self.name, self._place, {**self._options, **options})

    def new(self, *args: P.args, **kwargs: P.kwargs) -> NewTask:
        """What `push` would push, for `Queue.push_many`."""
        return NewTask(payload=self.payload(*args, **kwargs), **self._options)

    def payload(self, *args: P.args, **kwargs: P.kwargs) -> dict[str, Any]:
        self._check(args, kwargs)
        return {"function": self.name, "args": list(args), "kwargs": kwargs}

    def run_lease(self, lease: Lease) -> Any:
        """Call the function as the payload says (for `dibs work --call`)."""
        name, args, kwargs = _call_in(lease.payload)
        if name != self.name:
            raise BadInput(f"the task asks for function {name!r}, but this worker has only {self.name!r}")
        return self._run(args, kwargs)

    def _run(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        self._check(args, kwargs)
        call: Callable[..., R] = self.function
        return call(*args, **kwargs)

    def _check(self, args: Any, kwargs: Mapping[str, Any]) -> None:
        try:
            self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise BadInput(f"{self.name}() cannot be called so: {error}") from None


class Functions:
    """The functions of one queue, by name."""

    def __init__(self, queue: str | Queue) -> None:
        self._place = _Place(queue)
        self._functions: dict[str, TaskFunction[Any, Any]] = {}

    def function(self, name: str | None = None, **options: Any) -> Callable[[Callable[P, R]], TaskFunction[P, R]]:
        """Register a function under its own name, or the one given."""

        def register(called: Callable[P, R]) -> TaskFunction[P, R]:
            chosen = name or called.__name__
            if chosen in self._functions:
                raise BadInput(f"function {chosen!r} is already registered; give one of them another name")
            made = TaskFunction(called, chosen, self._place, options)
            self._functions[chosen] = made
            return made

        return register

    def __getitem__(self, name: str) -> TaskFunction[Any, Any]:
        """The registered function of that name; BadInput when there is none."""
        if name not in self._functions:
            known = ", ".join(sorted(self._functions)) or "none"
            raise BadInput(f"function {name!r} is not registered; registered: {known}")
        return self._functions[name]

    def run_lease(self, lease: Lease) -> Any:
        """Call the registered function that the payload names (for `dibs work --call`)."""
        name, args, kwargs = _call_in(lease.payload)
        return self[name]._run(args, kwargs)


def function(queue: str | Queue, **options: Any) -> Callable[[Callable[P, R]], TaskFunction[P, R]]:
    """A decorator: the function becomes one that can be pushed to `queue`, with these options of `Queue.push`."""

    def decorate(called: Callable[P, R]) -> TaskFunction[P, R]:
        return TaskFunction(called, called.__name__, _Place(queue), options)

    return decorate


class _Place:
    """A queue that is opened when it is first used, so that importing an application opens nothing."""

    def __init__(self, queue: str | Queue) -> None:
        self._where = queue

    @functools.cached_property
    def queue(self) -> Queue:
        return open_queue(self._where) if isinstance(self._where, str) else self._where


def _call_in(payload: Any) -> tuple[str, list[Any], dict[str, Any]]:
    try:
        name, args, kwargs = payload["function"], payload.get("args", []), payload.get("kwargs", {})
    except (TypeError, KeyError, AttributeError):
        raise BadInput(f"the payload is no call of a function: {str(payload)[:100]!r}; push it with .push()") from None
    if not isinstance(name, str) or not isinstance(args, list) or not isinstance(kwargs, dict):
        raise BadInput(f"the payload is no call of a function: {str(payload)[:100]!r}; push it with .push()")
    return name, args, kwargs
