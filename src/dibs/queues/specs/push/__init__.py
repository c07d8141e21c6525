"""Claims as commits on a branch of a git remote: `specs:FOLDER?git=push`."""

from dibs.queues.specs.push.queue import PushQueue

__all__ = ["PushQueue"]
