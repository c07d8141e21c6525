"""What has changed in a queue since its tasks were put into an index."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, Protocol

from dibs.queues.queue import Queue
from dibs.serve.cache.files import KnownFiles
from dibs.serve.cache.looking import Looking
from dibs.serve.cache.specs import KnownSpecs
from dibs.serve.masking import NOTHING_HIDDEN, Masking
from dibs.serve.search.words import Words


class Change(NamedTuple):
    id: str
    signature: str  # of what is indexed: another one means that the task must be put again
    words: Words | None  # None: it is no longer there


class Source(Protocol):
    def changes(self, known: Mapping[str, str]) -> Iterator[Change]:
        """What differs from `known`, the signatures of what is in the index; whoever asks keeps it up to date
        meanwhile. When it ends, the index is in step with a look that was begun after the call."""
        ...

    def forget(self) -> None:
        """The index is another: compare all again."""
        ...


def source_of(queue: Queue, look: Looking, every: float, mask: Masking = NOTHING_HIDDEN) -> Source:
    """`every`: seconds between two scans of a queue that does not tell what changed; `mask`: what nobody may find."""
    if isinstance(look, KnownFiles):
        from dibs.serve.search.from_files import FilesSource

        return FilesSource(look, mask)
    if isinstance(look, KnownSpecs):
        from dibs.serve.search.from_specs import SpecsSource

        return SpecsSource(queue, look, mask)
    from dibs.serve.search.from_scan import ScanSource

    return ScanSource(queue, every, mask)
