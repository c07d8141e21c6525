"""Many leases at once."""

import pytest

from dibs.errors import BadInput
from dibs.queues.queue import Queue
from dibs.testing.harness import Contract


class Batches(Contract):
    def test_a_batch_is_as_large_as_asked_or_as_there_is(self, queue: Queue) -> None:
        ids = {self.add(queue, {"n": n}).id for n in range(10)}
        first = queue.claim_many(4)
        rest = queue.claim_many(100)
        assert (len(first), len(rest)) == (4, 6)
        assert {lease.id for lease in first + rest} == ids
        assert queue.claim_many(3) == []

    def test_two_batches_share_no_task(self, queue: Queue) -> None:
        for n in range(20):
            self.add(queue, {"n": n})
        other = self.open()
        taken = [lease.id for _ in range(5) for lease in queue.claim_many(2) + other.claim_many(2)]
        assert len(set(taken)) == len(taken) == 20

    def test_a_batch_is_completed_and_names_what_was_lost(self, queue: Queue) -> None:
        for n in range(6):
            self.add(queue, {"n": n})
        leases = queue.claim_many(6, ttl=self.units(60))
        for lease in leases[:2]:
            self.open().cancel(lease.id)
        for lease in leases:
            lease.result = lease.epoch
        lost = queue.complete_many(leases)
        assert {lease.id for lease in lost} == {lease.id for lease in leases[:2]}
        assert self.counts(queue) == {"completed": 4, "cancelled": 2}
        assert queue.detail(leases[5].id).result == 1

    @pytest.mark.parametrize("limit", [0, -1])
    def test_a_batch_of_nothing_is_refused(self, queue: Queue, limit: int) -> None:
        with pytest.raises(BadInput, match="limit"):
            queue.claim_many(limit)
