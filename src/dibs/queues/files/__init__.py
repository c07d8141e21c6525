"""`file:` — the native queue: a task is one file, every step is one rename. See docs/protocol.md."""

from dibs.queues.files.queue import FilesQueue

__all__ = ["FilesQueue"]
