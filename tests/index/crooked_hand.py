"""A process of a crew to which something happens: `python -m index.crooked_hand`, with DIBS_TEST_FATE saying what.

merged | written | deleted    killed (SIGKILL) with a shard in hand, at that point of its work
careless                      deletes the inbox before it writes the shard, and is killed in between
stuck                         stops in the middle of a merge, with the lock, until it is told to end
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dibs.index import hand
from dibs.index.compactor import Compactor, Done
from dibs.index.inbox import Inbox
from dibs.lease import Held

SPARED = 2  # shards that go well before


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def wait() -> None:
    Path(os.environ["DIBS_TEST_STUCK"], str(os.getpid())).touch()
    time.sleep(600)


def after(calls: int, what: Callable[..., Any], fate: Callable[[], None]) -> Callable[..., Any]:
    """The same, until it has been called that often."""
    left = [calls]

    def act(*args: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            fate()
        return what(*args, **options)

    return act


def careless(self: Compactor, shard: str, names: Sequence[str], held: Held, regain: bool) -> Done:
    self._prepared(shard, names, held, regain)
    self._inbox.merged(shard, names)
    die()
    raise AssertionError


FATES: dict[str, tuple[type, str, Callable[..., Any]]] = {
    "merged": (Compactor, "_write", after(SPARED, Compactor._write, die)),
    "written": (Inbox, "merged", after(SPARED, Inbox.merged, die)),
    "deleted": (Compactor, "_release", after(SPARED, Compactor._release, die)),
    "careless": (Compactor, "_merge", careless),
    "stuck": (Compactor, "_prepared", after(SPARED, Compactor._prepared, wait)),
}

if __name__ == "__main__":
    setattr(*FATES[os.environ["DIBS_TEST_FATE"]])
    sys.exit(hand.main())
