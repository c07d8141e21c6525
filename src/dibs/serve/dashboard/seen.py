"""How long tasks wait and run, from the leases that a look at the queue sees held, whoever holds them.

A look sees a long lease more surely than a short one: one of length d is seen by looks that are s apart with the chance
d/s. So each that was seen stands for s/d of its kind, and the figures are those of all tasks, not of the long ones.
"""

import random
from collections.abc import Iterable
from typing import NamedTuple

from dibs.errors import DibsError
from dibs.queues.queue import Queue
from dibs.queues.views import Claim
from dibs.serve.dashboard.spread import SHORTEST
from dibs.states import State

MOST_ASKED = 24  # leases that ended between two looks, of which it is asked how


class Took(NamedTuple):
    wait: float | None  # from when it could have run to its first claim, where that is known
    run: float
    weight: float


class Seen:
    def __init__(self, queue: Queue, rng: random.Random) -> None:
        self._queue = queue
        self._rng = rng
        self._held: dict[tuple[str, int], Claim] = {}

    @property
    def names(self) -> frozenset[tuple[str, int]]:
        return frozenset(self._held)

    def look(self, claims: Iterable[Claim], apart: float) -> list[Took]:
        """What ended since the last look, `apart` seconds ago."""
        now = {(claim.id, claim.epoch): claim for claim in claims}
        gone = [claim for name, claim in self._held.items() if name not in now]
        self._held = now
        asked = gone if len(gone) <= MOST_ASKED else self._rng.sample(gone, MOST_ASKED)
        share = len(gone) / len(asked) if asked else 1.0
        return [took for claim in asked if (took := self._took(claim, apart, share)) is not None]

    def _took(self, claim: Claim, apart: float, share: float) -> Took | None:
        try:
            detail = self._queue.detail(claim.id)
        except DibsError:
            return None
        task = detail.task
        if task.state is not State.COMPLETED or task.epoch != claim.epoch or detail.ended_at is None:
            return None
        run = max(detail.ended_at - claim.claimed_at, SHORTEST)
        wait = None
        if claim.epoch == 1 and not task.after and task.pushed_at:
            wait = max(claim.claimed_at - max(task.pushed_at, task.not_before or 0.0), 0.0)
        return Took(wait, run, share / min(1.0, run / apart) if apart > 0 else share)
