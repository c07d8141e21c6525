"""SeaweedFS on loopback, started as the tests start it, with its data on the disk under test."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_TESTS = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "tests")


def missing() -> str | None:
    """Why it cannot run here, or None."""
    try:
        import boto3  # noqa: F401
        import obstore  # noqa: F401
    except ImportError as error:
        return f"{error.name} is not installed; `make bench` installs it"
    program = _servers().child.program("weed")
    return None if os.access(program, os.X_OK) else f"there is no {program}; `make bench` installs it"


@contextmanager
def seaweed(folder: str) -> Iterator[Any]:
    with _servers().seaweed.serving(Path(folder).resolve()) as server:
        yield server


def _servers() -> Any:
    if _TESTS not in sys.path:
        sys.path.append(_TESTS)
    import servers.child
    import servers.seaweed

    return servers
