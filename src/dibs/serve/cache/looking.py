"""Who answers when somebody looks at a queue: what is remembered of it, where that is possible, or the queue itself."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from dibs.mounts import is_local
from dibs.queues.files.fs import LocalFs
from dibs.queues.files.queue import FilesQueue
from dibs.queues.queue import Queue
from dibs.queues.specs.queue import SpecsQueue
from dibs.queues.views import Claim, Stats
from dibs.serve.cache.files import KnownFiles
from dibs.serve.cache.specs import KnownSpecs
from dibs.task import Task


class Looking(Protocol):
    """The part of a queue that only looks."""

    def tasks(
        self,
        state: str | None = None,
        *,
        project: str | None = None,
        labels: Iterable[str] = (),
        limit: int | None = None,
    ) -> Iterator[Task]: ...

    def newest(
        self, state: str, *, project: str | None = None, labels: Iterable[str] = (), limit: int | None = None
    ) -> Iterator[Task]: ...

    def stats(self) -> Stats: ...

    def claimed(self) -> list[Claim]: ...


def looking(queue: Queue) -> Looking:
    """Databases and buckets have indexes of their own; on a network file system the times of a folder may lag."""
    if type(queue) is FilesQueue and type(queue._parts.fs) is LocalFs and is_local(queue.root):
        return KnownFiles(queue)
    if type(queue) is SpecsQueue and is_local(queue.folder):
        return KnownSpecs(queue)
    return queue
