"""The first process of a `Machine`: keeps running what it is told to, and buries what ended. Run as a script:

    python -m hosts.init LOG      gets a line for each that ended by itself, not by a signal

A line of its input is JSON: {"keep": NAME, "script": MODULE, "args": […]} or {"drop": NAME}; each gets a line of
answer. What ends is started again. What it keeps is forked, so that starting costs little.
"""

import json
import os
import select
import signal
import sys
from importlib import import_module
from typing import Any

LOOK_SECONDS = 0.02


class Kept:
    def __init__(self, script: str, args: list[str]) -> None:
        self._main = import_module(script).main
        self._args = args
        self.start()

    def start(self) -> None:
        self.pid = os.fork()
        if not self.pid:
            code = 1
            try:
                os.setsid()
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                os.dup2(2, 1)
                self._main(*self._args)
                code = 0
            finally:
                os._exit(code)


def main(log: str) -> None:
    kept: dict[str, Kept] = {}
    print("up", flush=True)
    while True:
        if select.select([sys.stdin.fileno()], [], [], LOOK_SECONDS)[0]:
            line = sys.stdin.buffer.raw.readline()  # type: ignore[attr-defined]
            if not line:
                return
            obey(json.loads(line), kept)
            print("done", flush=True)
        for pid, status in buried():
            for name, one in kept.items():
                if one.pid == pid:
                    if os.WIFEXITED(status):
                        with open(log, "a") as file:
                            file.write(f"{name}: code {os.WEXITSTATUS(status)}\n")
                    one.start()


def obey(order: dict[str, Any], kept: dict[str, Kept]) -> None:
    if "keep" in order:
        kept[order["keep"]] = Kept(order["script"], order["args"])
    else:
        os.killpg(kept.pop(order["drop"]).pid, signal.SIGKILL)


def buried() -> list[tuple[int, int]]:
    """What has ended, orphans too: they become children of the first process."""
    found = []
    try:
        while (ended := os.waitpid(-1, os.WNOHANG))[0] > 0:
            found.append(ended)
    except ChildProcessError:
        pass
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
