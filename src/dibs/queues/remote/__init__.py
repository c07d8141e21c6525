"""Queues behind a daemon: `http://HOST:8750/NAME` and `unix:/run/dibs.sock/NAME` (see `dibs.serve`)."""

from dibs.queues.remote.queue import RemoteQueue

__all__ = ["RemoteQueue"]
