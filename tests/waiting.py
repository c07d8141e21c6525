"""Waiting for what comes by itself: until it is so, however slow the machine is, and never a fixed time."""

import inspect
import time
from collections.abc import Callable
from typing import Any

PATIENCE = 180.0  # nobody waits as long unless something is wrong: a machine may be very busy
LONG_PATIENCE = 900.0  # for what takes a minute on a machine that has nothing else to do
_PAUSE = 0.01
_ANYTHING_TRUE = object()


def until(look: Callable[[], Any], what: str = "", *, equals: Any = _ANYTHING_TRUE) -> Any:
    """Look again and again until that is true, or equal to what is given, and return it.

    One look is one moment: of two things that must hold together one look has to tell both, or each has to stay so.
    """
    end = time.monotonic() + PATIENCE
    while True:
        last = end < time.monotonic()  # before the look, so that there is one behind the end
        seen = look()
        if seen == equals if equals is not _ANYTHING_TRUE else seen:
            return seen
        if last:
            raise AssertionError(_vain(what or _written(look), seen, equals))
        time.sleep(_PAUSE)


def _vain(what: str, seen: Any, equals: Any) -> str:
    wanted = "" if equals is _ANYTHING_TRUE else f" to be {equals!r}"
    return f"waited {PATIENCE:g} s for {what}{wanted}; seen last: {seen!r}"


def _written(look: Callable[[], Any]) -> str:
    """How the test puts it."""
    try:
        return " ".join(inspect.getsource(look).split())
    except (OSError, TypeError):
        return repr(look)
