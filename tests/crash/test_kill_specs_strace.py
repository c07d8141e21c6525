"""A kill at real system calls of `specs:`, injected from outside: a few of them here, all with KILL_EVERY=1 set."""

import os
import random
import re
import signal
from pathlib import Path

import pytest

from crash.spec_scenarios import check, fresh, used
from disk import strace

CHANGES = "openat,write,fsync,rename,link,unlink,mkdir,fchmod,utimensat"
CLAIM = "import sys, dibs; q = dibs.open('specs:' + sys.argv[1] + '/.dibs/specs'); "
SCRIPTS = {
    "complete": (fresh, CLAIM + "q.claim().complete(1)"),
    "fail": (used, CLAIM + "q.claim().fail('x')"),
    "cancel": (used, CLAIM + "q.cancel('one')"),
    "push": (used, CLAIM + "q.push({'title': 'New'}, key='new')"),
}
EVERY = int(os.environ.get("KILL_EVERY", "10"))


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_kill_at_every_few_system_calls(name: str, quick_folder: Path) -> None:
    prepare, script = SCRIPTS[name]
    dry = quick_folder / "dry"
    prepare(str(dry))
    log = quick_folder / "log"
    strace.trace(script, dry, CHANGES, log)
    calls: list[tuple[str, int]] = []
    for line in log.read_text().splitlines():
        if found := re.match(r"\d+ +(\w+)\(", line):
            calls.append((found[1], 1 + sum(known == found[1] for known, _ in calls)))
    first = next(n for n, line in enumerate(log.read_text().splitlines()) if str(dry) in line)
    killed = 0
    tried = calls[first + random.randrange(EVERY) :: EVERY]
    for call, when in tried:
        path = quick_folder / f"{call}-{when}"
        prepare(str(path))
        inject = f"inject={call}:signal=SIGKILL:when={when}"
        run = strace.run(script, path, "-o", "/dev/null", "-e", f"trace={CHANGES}", "-e", inject)
        killed += run.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
        check(str(path), [])
    assert killed >= len(tried) - 1 - len(tried) // 5, f"only {killed} of {len(tried)} calls were reached"
