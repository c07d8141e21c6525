"""Queues in an LMDB environment, embedded, for the processes of one host."""

from dibs.queues.lmdb.queue import LmdbQueue

__all__ = ["LmdbQueue"]
