"""The `dibs` program, run as a real process in an empty folder."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from children import as_anywhere
from waiting import PATIENCE

PROGRAM = str(Path(sys.executable).with_name("dibs"))


class Result:
    def __init__(self, done: "subprocess.CompletedProcess[bytes]") -> None:
        self.code = done.returncode
        self.out = done.stdout.decode()
        self.err = done.stderr.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]

    def __repr__(self) -> str:
        return f"<exit {self.code}\nout: {self.out}\nerr: {self.err}>"


environment = as_anywhere


Run = Callable[..., Result]


@pytest.fixture
def dibs(tmp_path: Path) -> Run:
    """Run `dibs …` in the test's own folder."""

    def run(*words: str, stdin: str | bytes = b"", cwd: Path = tmp_path, env: dict[str, str] | None = None) -> Result:
        done = subprocess.run(
            [PROGRAM, *words],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            cwd=cwd,
            env=environment(**(env or {})),
            timeout=PATIENCE,
        )
        result = Result(done)
        assert "Traceback" not in result.err, result
        return result

    return run


@pytest.fixture
def claim(dibs: Run) -> Callable[..., dict[str, Any]]:
    """Claim one task from `q`."""

    def one(*words: str) -> dict[str, Any]:
        result = dibs("claim", "q", *words)
        assert result.code == 0, result
        (record,) = result.lines
        assert isinstance(record, dict)
        return record

    return one
