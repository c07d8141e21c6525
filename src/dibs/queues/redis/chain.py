"""Complete one task and claim the next in one round trip, for a worker that runs many: one script does what two do."""

from collections.abc import Sequence
from typing import Any

from dibs.clock import Clock
from dibs.facets import Filter
from dibs.queues.held import Lease
from dibs.queues.redis.claimer import Claimer, Taken
from dibs.queues.redis.server import Server, Unanswered
from dibs.queues.redis.steps import Steps


class Chain:
    def __init__(self, server: Server, claimer: Claimer, steps: Steps, clock: Clock) -> None:
        self._server = server
        self._claimer = claimer
        self._steps = steps
        self._clock = clock

    def link(
        self, lease: Lease, result: Any, ttl: float, wanted: Filter, guard: int | None
    ) -> tuple[Sequence[bytes], Taken]:
        """The answer to the completion, and what was claimed."""
        holder, arguments = self._claimer.request(1, ttl, wanted, guard)
        completion = self._steps.completion([(lease, result)])
        sent = self._clock.boottime()
        try:
            done, *answer = self._server.ask("chain", *completion, *arguments, twice=False)
        except Unanswered:
            (done,) = self._server.ask("complete", *completion)  # found done, or done now
            return done, Taken(self._claimer.claimed_as(holder), holder, sent)
        if not answer:
            return done, Taken([], holder, sent)
        self._claimer.heard(answer[0], guard)
        return done, Taken(answer[0][4], holder, sent)
