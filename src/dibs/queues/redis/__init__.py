"""Queues on a Redis server: every step one script."""

from dibs.queues.redis.queue import RedisQueue

__all__ = ["RedisQueue"]
