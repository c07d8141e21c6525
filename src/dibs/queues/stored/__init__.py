"""A queue over any store with create-if-absent and replace-if-version."""

from dibs.queues.stored.queue import StoredQueue

__all__ = ["StoredQueue"]
