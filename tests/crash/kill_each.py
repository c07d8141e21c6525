"""Kill a process before every single system call of one step, and look what is left. Run as a script:

    python -m crash.kill_each FOLDER SCENARIO

For n = 1, 2, … a forked child takes the step on a copy of the same prepared queue and kills itself before its n-th
changing system call (a write is torn in half first), until one gets through. Prints JSON: how many points there
were, what went wrong.
"""

import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from itertools import count
from typing import Any

import dibs
from crash.scenarios import SCENARIOS, Scenario
from crash.spec_scenarios import SPEC_SCENARIOS
from disk.os_seam import told


def main(folder: str, name: str) -> None:
    scenario = (SCENARIOS | SPEC_SCENARIOS)[name]
    template = f"{folder}/template"
    os.makedirs(template)
    _, status = _in_child(lambda: scenario.prepare(f"{template}/q"))
    assert status == 0
    failures = []
    for n in count(1):
        place = f"{folder}/{n}"
        shutil.copytree(template, place)
        said, status = _in_child(lambda n=n, place=place: _act_and_die(scenario, f"{place}/q", n))
        try:
            scenario.check(f"{place}/q", said)
        except (AssertionError, dibs.DibsError, OSError) as error:
            failures.append(f"killed before call {n}, having said {said!r}: {type(error).__name__} {error}")
        shutil.rmtree(place)
        if not os.WIFSIGNALED(status):
            break
    if status:
        failures.append(f"the step itself fails: {status}")
    print(json.dumps({"points": n - 1, "failures": failures}))


def _act_and_die(scenario: Scenario, path: str, n: int) -> None:
    calls = 0

    def tell(name: str, args: tuple[Any, ...]) -> None:
        nonlocal calls
        calls += 1
        if calls == n:
            if name == "write":
                os.write(args[0], bytes(args[1])[: len(args[1]) // 2])
            os.kill(os.getpid(), signal.SIGKILL)

    with told(tell):
        scenario.act(path, _say)


_pipe = -1


def _say(word: str) -> None:
    """What the step has returned, told to the parent at once."""
    os.write(_pipe, word.encode() + b"\n")


def _in_child(act: Callable[[], None]) -> tuple[list[str], int]:
    """(what it said, how it ended)."""
    global _pipe
    reading, writing = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        _pipe = writing
        code = 1
        try:
            act()
            code = 0
        finally:
            if code:
                traceback.print_exc()
            os._exit(code)
    os.close(writing)
    with open(reading, "rb") as pipe:
        said = pipe.read().decode().splitlines()
    _, status = os.waitpid(pid, 0)
    return said, status


if __name__ == "__main__":
    main(*sys.argv[1:])
