"""Claims that may have been made, though nobody knows of them.

The store failed in the middle of one, or its answer was lost. Such a claim is remembered, and given back as soon as the
store answers: else its task would wait for the lease to run out, and count a death that nobody died.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Generic, TypeVar

from dibs.errors import StorageError

Claim = TypeVar("Claim")


class Doubts(Generic[Claim]):
    """Safe for threads: that two give the same back does no harm, since it is a step like any other."""

    def __init__(self) -> None:
        self._claims: list[Claim] = []

    def __len__(self) -> int:
        return len(self._claims)

    def add(self, claim: Claim) -> None:
        self._claims.append(claim)

    @contextmanager
    def about(self, claim: Claim) -> Iterator[None]:
        """Inside, a store that fails leaves the claim in doubt."""
        try:
            yield
        except StorageError:
            self.add(claim)
            raise

    def settle(self, give_back: Callable[[Claim], bool]) -> None:
        """`give_back` does nothing about one that was not made, or is over. It says whether that is certain: what was
        sent may take effect a little later. One that it fails with stays in doubt, and the others are tried first."""
        trouble: Exception | None = None
        for claim in tuple(self._claims):
            try:
                certain = give_back(claim)
            except (OSError, StorageError) as error:
                trouble, certain = error, False
            if certain:
                with suppress(ValueError):  # somebody else was as quick
                    self._claims.remove(claim)
        if trouble is not None:
            raise trouble
