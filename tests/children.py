"""Scripts of these tests run as processes of their own: with the tests, and whatever dibs the tests use, importable."""

import os
import sys
from pathlib import Path

import dibs

TESTS = str(Path(__file__).parent)
_SOURCE = str(Path(dibs.__file__).parents[1])


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([TESTS, _SOURCE])}


def command(script: str, *args: str) -> list[str]:
    return [sys.executable, "-m", script, *args]
