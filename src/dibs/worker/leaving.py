"""How a worker's process leaves its queue: in good order, so that nobody takes it for dead, and never late by that."""

import os
import threading
from contextlib import suppress

from dibs.errors import DibsError
from dibs.queues.queue import Queue

LEAVING_SECONDS = 5.0


def leave(queue: Queue) -> None:
    """Close it: sessions end with a word, connections too, and spans are exported. What does not let go in time is left
    as it is."""
    closing = threading.Thread(target=_close, args=(queue,), name="leaving", daemon=True)
    closing.start()
    closing.join(LEAVING_SECONDS)


def _close(queue: Queue) -> None:
    with suppress(DibsError):  # nothing is held: whoever could not be told finds out
        queue.close()
    if os.environ.get("DIBS_TRACES") == "1":
        from dibs.tracing import flush

        flush(LEAVING_SECONDS)
