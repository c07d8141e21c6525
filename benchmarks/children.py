"""How a child process is started: with this package importable, from wherever the run was started."""

import os
import sys

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def environment(**more: str) -> dict[str, str]:
    path = os.pathsep.join(filter(None, [_ROOT, os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, **more}


def script(name: str) -> str:
    """An installed command beside this Python."""
    return os.path.join(os.path.dirname(sys.executable), name)
