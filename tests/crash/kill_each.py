"""Kill a process before every single system call of one step, and look what is left. Run as a script:

    python -m crash.kill_each FOLDER SCENARIO

For each n a forked child takes the step on a copy of the same prepared queue and kills itself before its n-th
changing system call (a write is torn in half first). Prints JSON: how many points there were, what went wrong.
"""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from typing import Any

import dibs
from crash.scenarios import SCENARIOS, Scenario
from disk.os_seam import count_calls, told


def main(folder: str, name: str) -> None:
    scenario = SCENARIOS[name]
    template = f"{folder}/template"
    os.makedirs(template)
    _in_child(lambda: scenario.prepare(f"{template}/q"))
    points = _count(scenario, folder, template)
    failures = []
    for n in range(1, points + 2):
        place = f"{folder}/{n}"
        shutil.copytree(template, place)
        said, status = _in_child(lambda n=n, place=place: _act_and_die(scenario, f"{place}/q", n))
        killed = os.WIFSIGNALED(status)
        if killed != (n <= points):
            failures.append(f"call {n} of {points}: killed is {killed}, said {said!r}")
        try:
            scenario.check(f"{place}/q", said)
        except (AssertionError, dibs.DibsError, OSError) as error:
            failures.append(f"killed before call {n} of {points}, having said {said!r}: {error}")
        shutil.rmtree(place)
    print(json.dumps({"points": points, "failures": failures}))


def _count(scenario: Scenario, folder: str, template: str) -> int:
    place = f"{folder}/count"
    shutil.copytree(template, place)

    def count() -> list[str]:
        return [str(count_calls(lambda: scenario.act(f"{place}/q", lambda word: None)))]

    said, _ = _in_child(lambda say=None: count(), reports=True)
    shutil.rmtree(place)
    return int(said[0])


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


def _in_child(act: Callable[[], Any], *, reports: bool = False) -> tuple[list[str], int]:
    """(what it said, how it ended)."""
    global _pipe
    reading, writing = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        _pipe = writing
        code = 1
        try:
            words = act()
            if reports:
                for word in words:
                    _say(word)
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with open(reading, "rb") as pipe:
        said = pipe.read().decode().splitlines()
    _, status = os.waitpid(pid, 0)
    return said, status


if __name__ == "__main__":
    main(*sys.argv[1:])
