"""The markdown specs of a repository as a queue: `specs:FOLDER`. The files are the queue."""

from dibs.queues.specs.queue import SpecsQueue

__all__ = ["SpecsQueue"]
