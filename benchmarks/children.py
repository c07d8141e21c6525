"""How the processes that a benchmark starts find what they need."""

import os
import sys

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def as_installed() -> dict[str, str]:
    """The surroundings of a command of an installed dibs: compiled modules are kept."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def environment(**more: str) -> dict[str, str]:
    """The same, and this package can be imported, from wherever the run was started."""
    path = os.pathsep.join(filter(None, [_ROOT, os.environ.get("PYTHONPATH")]))
    return {**as_installed(), "PYTHONPATH": path, **more}


def script(name: str) -> str:
    """An installed command beside this Python."""
    return os.path.join(os.path.dirname(sys.executable), name)
