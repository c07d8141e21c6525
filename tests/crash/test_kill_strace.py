"""A kill at every real system call of a push and of a claim and its completion, injected from outside."""

import re
import signal
from pathlib import Path

import pytest

import dibs
from disk import strace
from disk.inspect_files import places, problems, state_of

CHANGES = "write,fsync,rename,link,unlink,mkdir,utimensat"
PUSH = "import sys, dibs; dibs.open(sys.argv[1]).push({'new': 1}, key='k')"
WORK = "import sys, dibs; dibs.open(sys.argv[1]).claim().complete({'result': 1})"


def prepare(path: Path) -> None:
    dibs.open(f"{path}?sync=off").push({"old": 1})


def check(path: Path) -> None:
    assert problems(path) == []
    queue = dibs.open(f"{path}?sync=off")
    again = queue.push({"again": 1}, key="k")
    while (lease := queue.claim()) is not None:
        lease.complete()
    assert problems(path) == []
    states = [state_of(paths[0]) for paths in places(path).values()]
    assert set(states) <= {"completed", "cancelled"}
    assert states.count("completed") == 2, "the old task and the one with the key, each once"
    assert queue.get("k").id == again.id


@pytest.mark.parametrize("script", [PUSH, WORK], ids=["push", "work"])
def test_a_kill_at_every_system_call(script: str, quick_folder: Path) -> None:
    template = quick_folder / "dry"
    prepare(template)
    log = quick_folder / "log"
    strace.trace(script, template, CHANGES, log)
    names = re.findall(r"^\d+ +(\w+)\(", log.read_text(), re.MULTILINE)
    assert {"rename", "write"} <= set(names)
    killed = 0
    for name in sorted(set(names)):
        for when in range(1, names.count(name) + 1):
            path = quick_folder / f"{name}-{when}"
            prepare(path)
            inject = f"inject={name}:signal=SIGKILL:when={when}"
            run = strace.run(script, path, "-o", "/dev/null", "-e", f"trace={CHANGES}", "-e", inject)
            killed += run.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
            check(path)
    assert killed >= len(names) - 4, f"only {killed} of {len(names)} calls were reached"
