"""Complete one task and claim the next in one round trip, for a worker that runs many: one script does what two do.
Many are completed and claimed by two scripts that are sent together."""

from collections.abc import Sequence
from typing import Any

from dibs.clock import Clock
from dibs.facets import Filter
from dibs.queues.held import Lease
from dibs.queues.redis.claimer import PAGE, Claimer, Taken, taken
from dibs.queues.redis.server import Server, Unanswered
from dibs.queues.redis.steps import OK, Steps


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
            done = self._server.ask("complete", *completion)  # found done, or done now
            return (OK if done == 1 else done[0]), self._claimer.claimed_as(holder, sent)
        if not answer:
            return done, Taken((), (), holder, sent)
        self._claimer.heard(answer[0], guard)
        return OK, taken(answer[0], holder, sent)

    def link_many(
        self, leases: Sequence[tuple[Lease, Any]], limit: int, ttl: float, wanted: Filter, guard: int | None
    ) -> tuple[list[Sequence[bytes]], Taken]:
        """The answer to each completion, and what was claimed, whatever they were. At most CHUNK leases."""
        holder, arguments = self._claimer.request(min(limit, PAGE), ttl, wanted, guard)
        completion = self._steps.completion(leases)
        sent = self._clock.boottime()
        try:
            done, answer = self._server.ask_many([("complete", completion), ("claim", arguments)], twice=False)
        except Unanswered:
            return self._steps.complete(leases), self._claimer.claimed_as(holder, sent)
        self._claimer.heard(answer, guard)
        return self._steps.told(leases, done), taken(answer, holder, sent)
