"""Start members and talk to them."""

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from children import command, environment


class Remote:
    """One member process, as seen from the test."""

    def __init__(self, url: str, *, under: Sequence[str] = (), **options: Any) -> None:
        """`under`: a command that runs it."""
        words = [*under, *command("hosts.member", url, json.dumps(options))]
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
        )

    def send(self, command: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def answer(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the member died"
        return line.strip()

    def ask(self, command: str) -> str:
        self.send(command)
        return self.answer()


@contextmanager
def remotes(*started: Remote) -> Iterator[None]:
    try:
        yield
    finally:
        for remote in started:
            remote.process.kill()
            remote.process.communicate()
