"""`postgres:` — the queue in a PostgreSQL database."""

from dibs.queues.postgres.queue import PostgresQueue

__all__ = ["PostgresQueue"]
