"""The Queue contract over Amazon SQS: see `queue`."""

from dibs.queues.sqs.queue import SqsQueue

__all__ = ["SqsQueue"]
