"""Races between real processes: each is a `contender`, and all start at one moment."""

import subprocess
import sys

from dibs.clock import SYSTEM
from dibs.testing.harness import Contract

CONTENDERS = 8
PATIENCE_SECONDS = 120


class Contest(Contract):
    def _start(self, role: str, count: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "dibs.testing.contender", role, self.place(), count]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    def _say(self, process: "subprocess.Popen[str]", word: str) -> str:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(word + "\n")
        process.stdin.flush()
        return process.stdout.readline().strip()

    def _together(self, contenders: "list[subprocess.Popen[str]]") -> list[list[str]]:
        """They start, and end; the lines that each has said."""
        together = SYSTEM.boottime() + 0.3
        for contender in contenders:
            assert contender.stdin is not None
            contender.stdin.write(f"{together}\n")
            contender.stdin.flush()
        said = []
        for contender in contenders:
            out, _ = contender.communicate(timeout=PATIENCE_SECONDS)
            assert contender.returncode == 0
            said.append(out.splitlines())
        return said
