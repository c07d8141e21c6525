"""Processes of a contender: forked ones, with everything imported, and its own commands."""

import multiprocessing
import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from typing import Any

from benchmarks.brokers.drain import end
from benchmarks.brokers.noop import FOLDER
from benchmarks.children import environment
from benchmarks.postgres.contender import Contender

_FORK = multiprocessing.get_context("fork")
LEAVE_SECONDS = 30


def apart(action: Callable[..., Any], *arguments: Any) -> Any:
    """What it returns, run in a process of its own: a driver's settings and threads stay there."""
    return together((action, *arguments))[0]


def together(*calls: tuple[Any, ...]) -> list[Any]:
    """The same of several at once, each an action and its arguments."""
    running = []
    for action, *arguments in calls:
        receiver, sender = _FORK.Pipe(duplex=False)
        process = _FORK.Process(target=_tell, args=(sender, action, arguments))
        process.start()
        sender.close()
        running.append((process, receiver))
    heard = []
    for process, receiver in running:
        try:
            heard.append(receiver.recv())
        except EOFError:
            heard.append((False, "it ended without a word"))
        process.join()
    for good, found in heard:
        if not good:
            raise RuntimeError(found)
    return [found for _, found in heard]


def _tell(sender: Any, action: Callable[..., Any], arguments: list[Any]) -> None:
    try:
        sender.send((True, action(*arguments)))
    except BaseException as error:
        sender.send((False, f"{type(error).__name__}: {error}"))


class Workers:
    """The workers of one drain, started together; what they print goes to a log."""

    def __init__(
        self, contender: Contender, url: str, processes: int, setting: int, noted: str, *, idle: bool = False
    ) -> None:
        self._log = f"{noted}.log"
        self._forked: list[Any] = []
        self._commands: list[subprocess.Popen[bytes]] = []
        commands = contender.commands(url, processes, setting, idle)
        with open(self._log, "ab") as output:
            for command in commands:
                self._commands.append(
                    subprocess.Popen(
                        command,
                        env=environment(**{FOLDER: noted}),
                        stdin=subprocess.DEVNULL,
                        stdout=output,
                        stderr=output,
                        start_new_session=True,
                    )
                )
        for _ in range(0 if commands else processes):
            worker = _FORK.Process(target=_work, args=(contender, url, setting, noted, self._log))
            worker.start()
            self._forked.append(worker)

    def trouble(self) -> str | None:
        """What they said, if all of them have ended."""
        if any(worker.is_alive() for worker in self._forked) or any(worker.poll() is None for worker in self._commands):
            return None
        with open(self._log, "rb") as file:
            return f"its workers have ended: {file.read()[-400:].decode(errors='replace')}"

    def leave(self) -> None:
        """Wait for those who leave by themselves. RuntimeError if one has failed."""
        for forked in self._forked:
            forked.join(LEAVE_SECONDS)
        for command in self._commands:
            try:
                command.wait(LEAVE_SECONDS)
            except subprocess.TimeoutExpired:
                pass
        codes = [worker.exitcode for worker in self._forked] + [worker.poll() for worker in self._commands]
        if any(codes):
            raise RuntimeError(f"exit codes {codes}; {self.trouble()}")

    def end(self) -> None:
        for forked in self._forked:
            forked.terminate()
        for forked in self._forked:
            forked.join(10)
            if forked.is_alive():
                forked.kill()
                forked.join()
        for command in self._commands:
            end(command)


def _work(contender: Contender, url: str, setting: int, noted: str, log: str) -> None:
    os.environ[FOLDER] = noted
    with open(log, "ab") as output:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(output.fileno(), stream.fileno())
    try:
        contender.work(url, setting)
    except Exception:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)
