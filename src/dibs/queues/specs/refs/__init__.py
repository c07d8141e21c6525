"""Claims as refs of a git remote: `specs:FOLDER?git=refs`. No branch is touched."""

from dibs.queues.specs.refs.queue import RefsQueue

__all__ = ["RefsQueue"]
