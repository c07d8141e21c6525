"""A Python function per task: called with the payload, its return value is the result.

A second parameter named `lease` or `task` gets just that. Functions made with `dibs.function` and
registries (`dibs.Functions`) take their arguments from the payload. An async function is run to its end.
"""

import inspect
import traceback
from collections.abc import Callable
from importlib import import_module
from typing import Any

from dibs.errors import BadInput, LeaseLost
from dibs.queues.held import Lease
from dibs.worker.work import Done, Failed, GivenUp, Slot, tail_of

_EXTRAS: dict[str, Callable[[Lease], Any]] = {"lease": lambda lease: lease, "task": lambda lease: lease.task}
_TRACE_LINES = 12


class CallWork:
    def __init__(self, target: str) -> None:
        self._call = load(target)

    def do(self, lease: Lease, slot: Slot, limit: float | None) -> Done | Failed | GivenUp:
        try:
            return Done(self._call(lease))
        except LeaseLost as error:
            return GivenUp(str(error))
        except BaseException as error:  # SystemExit too: a task must not end its worker
            return Failed(describe(error))

    def abandon(self, task_id: str, why: str) -> None:
        """A function cannot be ended from outside; it finds its lease lost when it finishes."""

    def leave(self, why: str) -> bool:
        return False


def load(target: str) -> Callable[[Lease], Any]:
    """`pkg.mod:function` as something to call with a lease; BadInput says what is wrong with it."""
    module_name, _, path = target.partition(":")
    try:
        found: Any = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and (module_name == error.name or module_name.startswith(f"{error.name}.")):
            raise BadInput(f"--call {target}: there is no module {error.name!r}; is it in PYTHONPATH?") from None
        raise BadInput(f"--call {target}: importing it failed: {describe(error)}") from None
    except BaseException as error:
        raise BadInput(f"--call {target}: importing it failed: {describe(error)}") from None
    for name in path.split("."):
        if not hasattr(found, name):
            raise BadInput(f"--call {target}: {module_name} has no {name!r}")
        found = getattr(found, name)
    run_lease = getattr(found, "run_lease", None)
    if run_lease is not None:
        return _finished(run_lease)
    if not callable(found):
        raise BadInput(f"--call {target}: it is a {type(found).__name__}, not a function")
    return _finished(_with_payload(found, target))


def describe(error: BaseException) -> str:
    """Type, message, and where it came from, without our own frames."""
    first = "".join(traceback.format_exception_only(error)).strip()
    frames = [
        line
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename != __file__
        for line in traceback.format_list([frame])
    ]
    return tail_of("\n".join([first, "".join(frames[-_TRACE_LINES:]).rstrip()]).strip())


def _with_payload(function: Callable[..., Any], target: str) -> Callable[[Lease], Any]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some built-in functions do not say
        return lambda lease: function(lease.payload)
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL)]
    if not positional:
        raise BadInput(f"--call {target}: it takes no argument, but is called with the payload")
    extras = [p.name for p in parameters[1:] if p.name in _EXTRAS and p.kind is not p.POSITIONAL_ONLY]
    needed = [p.name for p in parameters[1:] if p.default is p.empty and p.name not in _EXTRAS]
    needed = [p for p in needed if p not in {q.name for q in parameters if q.kind in (q.VAR_POSITIONAL, q.VAR_KEYWORD)}]
    if needed:
        raise BadInput(f"--call {target}: it needs {', '.join(needed)}, but is called with the payload only")
    if not extras:
        return lambda lease: function(lease.payload)
    return lambda lease: function(lease.payload, **{name: _EXTRAS[name](lease) for name in extras})


def _finished(function: Callable[[Lease], Any]) -> Callable[[Lease], Any]:
    """A coroutine is run to its end."""

    def call(lease: Lease) -> Any:
        value = function(lease)
        if inspect.iscoroutine(value):
            import asyncio

            return asyncio.run(value)
        return value

    return call
