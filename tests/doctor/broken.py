"""File systems that are broken on purpose: `broken.c`, compiled once, put before the real one."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from children import environment

SOURCE = Path(__file__).with_name("broken.c")


@cache
def library(folder: Path) -> Path:
    made = folder / f"broken-{os.getpid()}.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", made, SOURCE, "-ldl"], check=True)
    return made


def doctor(*words: str, **more: str) -> tuple[int, dict[str, Any]]:
    """(exit code, report) of `dibs doctor … --json`."""
    done = subprocess.run(
        [sys.executable, "-m", "dibs", "doctor", *words, "--json"],
        env={**environment(), **more}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def levels(report: dict[str, Any]) -> dict[str, str]:
    """What was found, without what was good."""
    return {one["check"]: one["level"] for one in report["findings"] if one["level"] not in ("good", "note")}


def words(report: dict[str, Any], check: str) -> str:
    return next(str(one["happened"]) for one in report["findings"] if one["check"] == check)
