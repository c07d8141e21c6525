"""The next claim together with a completion."""

import pytest

from dibs.errors import BadInput, LeaseLost
from dibs.queues.queue import Queue
from dibs.testing.harness import Contract, needs


class Chains(Contract):
    def test_each_completion_brings_the_next_task(self, queue: Queue) -> None:
        ids = [self.add(queue, {"n": n}).id for n in range(6)]
        seen = []
        lease = queue.claim(ttl=self.units(60))
        while lease is not None:
            seen.append(lease.id)
            done, lease = lease, queue.complete_and_claim(lease, {"did": lease.id}, ttl=self.units(60))
            assert done.state == "completed"
        assert sorted(seen) == sorted(ids)
        assert self.counts(queue) == {"completed": 6}
        assert [queue.detail(ref).result for ref in ids] == [{"did": ref} for ref in ids]

    def test_what_a_chain_claims_is_held_like_any_other(self, queue: Queue) -> None:
        for n in range(2):
            self.add(queue, {"n": n})
        first = self.take(queue)
        second = queue.complete_and_claim(first, ttl=self.units(60))
        assert second is not None
        assert [claim.id for claim in self.open().claimed()] == [second.id]
        assert self.open().claim() is None
        second.renew()
        second.complete()
        assert self.counts(queue) == {"completed": 2}

    def test_a_refused_completion_claims_nothing(self, queue: Queue) -> None:
        for n in range(2):
            self.add(queue, {"n": n})
        lease = self.take(queue)
        self.open().cancel(lease.id)
        with pytest.raises(LeaseLost, match="cancelled"):
            queue.complete_and_claim(lease, ttl=self.units(60))
        with pytest.raises(LeaseLost):
            queue.complete_and_claim(lease, ttl=self.units(60))
        assert self.counts(queue) == {"ready": 1, "cancelled": 1}

    def test_a_result_that_cannot_be_kept_changes_nothing(self, queue: Queue) -> None:
        for n in range(2):
            self.add(queue, {"n": n})
        lease = self.take(queue)
        with pytest.raises(BadInput):
            queue.complete_and_claim(lease, object(), ttl=self.units(60))
        assert self.counts(queue) == {"ready": 1, "claimed": 1}
        lease.complete()

    @needs("facets", "push")
    def test_a_chain_takes_only_what_is_wanted(self, queue: Queue) -> None:
        first = self.add(queue, 1, project="a")
        self.add(queue, 2, project="b")
        third = self.add(queue, 3, project="a")
        lease = queue.claim(ttl=self.units(60), project="a")
        assert lease is not None
        taken = [lease.id]
        following = queue.complete_and_claim(lease, ttl=self.units(60), project="a")
        assert following is not None
        taken.append(following.id)
        assert sorted(taken) == sorted([first.id, third.id])
        assert queue.complete_and_claim(following, ttl=self.units(60), project="a") is None
        assert self.counts(queue) == {"ready": 1, "completed": 2}

    @needs("dependencies", "push")
    def test_a_chain_frees_what_waited(self, queue: Queue) -> None:
        one = self.add(queue, 1)
        two = self.add(queue, 2, after=[one.id])
        lease = self.take(queue)
        following = queue.complete_and_claim(lease, ttl=self.units(60)) or queue.claim(ttl=self.units(60))
        assert following is not None
        assert following.id == two.id

    def test_a_batch_of_completions_brings_the_next_batch(self, queue: Queue) -> None:
        ids = [self.add(queue, {"n": n}).id for n in range(9)]
        seen: list[str] = []
        leases = queue.claim_many(3, ttl=self.units(60))
        while leases:
            seen += [lease.id for lease in leases]
            leases[0].result = {"did": leases[0].id}
            done, leases = leases, queue.complete_and_claim_many(leases, 3, ttl=self.units(60))
            assert [lease.state for lease in done] == ["completed"] * len(done)
        assert sorted(seen) == sorted(ids)
        assert self.counts(queue) == {"completed": 9}

    def test_a_batch_that_is_lost_in_part_brings_the_next_all_the_same(self, queue: Queue) -> None:
        for n in range(12):
            self.add(queue, {"n": n})
        for _ in range(2):  # a queue that has been busy may go another way
            leases = queue.claim_many(3, ttl=self.units(60))
            self.open().cancel(leases[1].id)
            following = queue.complete_and_claim_many(leases, 3, ttl=self.units(60))
            assert [lease.state for lease in leases] == ["completed", "lost", "completed"]
            assert len(following) == 3
            assert sorted(claim.id for claim in self.open().claimed()) == sorted(lease.id for lease in following)
            assert queue.complete_many(following) == []
        assert self.counts(queue) == {"completed": 10, "cancelled": 2}

    def test_a_batch_is_given_only_as_many_as_were_asked_for(self, queue: Queue) -> None:
        for n in range(5):
            self.add(queue, {"n": n})
        leases = queue.claim_many(2, ttl=self.units(60))
        with pytest.raises(BadInput):
            queue.complete_and_claim_many(leases, 0)
        following = queue.complete_and_claim_many([], 1, ttl=self.units(60))
        assert len(following) == 1
        following = queue.complete_and_claim_many([*leases, *following], 9, ttl=self.units(60))
        assert len(following) == 2
        assert queue.complete_and_claim_many(following, 9, ttl=self.units(60)) == []
        assert self.counts(queue) == {"completed": 5}

    def test_a_paused_queue_completes_and_claims_nothing(self, queue: Queue) -> None:
        for n in range(2):
            self.add(queue, {"n": n})
        lease = self.take(queue)
        queue.pause("lunch")
        assert queue.complete_and_claim(lease, ttl=self.units(60)) is None
        assert self.counts(queue) == {"ready": 1, "completed": 1}
