"""Scripts of these tests run as processes of their own: with the tests, and whatever dibs the tests use, importable."""

import os
import sys
from pathlib import Path

import dibs

TESTS = str(Path(__file__).parent)
_SOURCE = str(Path(dibs.__file__).parents[1])
_OF_A_SHELL = {"COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "PYTHONWARNINGS"}


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([TESTS, _SOURCE])}


def as_anywhere(**extra: str) -> dict[str, str]:
    """For the program `dibs`: without what the shell or the service that began the tests has set for itself."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("DIBS_")}
    return (
        {name: value for name, value in ours.items() if name not in _OF_A_SHELL} | {"PYTHONIOENCODING": "utf-8"} | extra
    )


def command(script: str, *args: str) -> list[str]:
    return [sys.executable, "-m", script, *args]
