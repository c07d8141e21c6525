"""Which journal a daemon keeps for a queue: the same when it is started again at the same place, and no other's.

Of a `file:` queue it lies with the workers' records, so that whoever looks at the files sees who holds what. Of the
others in the user's folder for such things: there are no files to look at.
"""

import os
from collections.abc import Callable
from hashlib import sha256

from dibs.queues.files.queue import FilesQueue
from dibs.serve.desk import Desk
from dibs.serve.journal import Journal, tidy


class Journals:
    """`place`: where the daemon listens; `via`: how it is called by people."""

    def __init__(self, place: str, via: str, log: Callable[[str], None] = lambda _: None) -> None:
        self._place = place
        self._via = via
        self._log = log

    def __call__(self, desk: Desk) -> Journal | None:
        queue = desk.queue
        if not queue.capabilities.processes:
            return None  # it dies with the daemon
        host = queue.host
        name = f"{host.name}-{_digest(f'{host.machine} {self._place}')}"
        if isinstance(queue, FilesQueue):
            folder = f"{queue.root}/workers"
        else:
            folder, name = state_folder(), f"{name}-{_digest(queue.address)}"
        try:
            tidy(folder, queue.clock.wall())
            return Journal(folder, name, self._via, self._log)
        except OSError as error:
            why = error.strerror or str(error)
            self._log(f"cannot note in {folder} who holds what: {why}; after a crash only the TTL ends claims")
            return None


def state_folder() -> str:
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(state, "dibs", "claims")


def _digest(text: str) -> str:
    return sha256(text.encode(errors="surrogateescape")).hexdigest()[:12]
