"""How a test run is started makes no difference to what the tests start."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from children import TESTS, environment

SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
INNER = """
import subprocess, sys

def test_it():
    ask = "import signal; print([int(n) for n in SIGNALS if signal.getsignal(n) is signal.SIG_IGN])"
    words = [sys.executable, "-c", ask.replace("SIGNALS", "%s")]
    print("ignored:", subprocess.run(words, check=True, capture_output=True, text=True).stdout)
"""


@pytest.mark.parametrize("words", [[], ["-n", "1"]], ids=["alone", "xdist"])
def test_what_a_run_ignores_is_not_ignored_by_what_it_starts(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "conftest.py").write_text((Path(TESTS) / "conftest.py").read_text())
    (tmp_path / "test_inner.py").write_text(INNER % str([int(number) for number in SIGNALS]))

    def deaf() -> None:
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)

    command = [sys.executable, "-m", "pytest", "-q", "-rP", "-c", os.devnull, "--rootdir", str(tmp_path), *words]
    run = subprocess.run(
        [*command, str(tmp_path)], env=environment(), cwd=tmp_path, capture_output=True, text=True, preexec_fn=deaf
    )
    assert "ignored: []" in run.stdout, run.stdout + run.stderr
