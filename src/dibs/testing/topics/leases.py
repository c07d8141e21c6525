"""Leases: renewal, expiry, takeover, a holder's own deadline, the hard maximum."""

import pytest

from dibs.errors import BadInput, LeaseLost
from dibs.queues.queue import Queue
from dibs.states import State
from dibs.testing.harness import Contract, needs


class Leases(Contract):
    def test_a_lease_lasts_for_its_ttl_and_no_longer(self, queue: Queue) -> None:
        task = self.add(queue)
        lease = self.take(queue, ttl=self.units(20))
        other = self.open()
        self.pass_time(18)
        assert lease.held
        assert other.claim() is None
        self.pass_time(3)
        assert not lease.held
        taken = self.take(other)
        assert (taken.id, taken.epoch, taken.task.deaths, taken.task.attempts) == (task.id, 2, 1, 0)

    def test_a_renewed_lease_goes_on(self, queue: Queue) -> None:
        self.add(queue)
        lease = self.take(queue, ttl=self.units(20))
        other = self.open()
        for _ in range(5):
            self.pass_time(15)
            lease.renew()
            assert lease.held
            assert other.claim() is None
        self.pass_time(21)
        assert self.take(other).epoch == 2

    def test_a_renewal_that_comes_too_late_is_refused_though_nobody_took_the_task(self, queue: Queue) -> None:
        task = self.add(queue)
        lease = self.take(queue, ttl=self.units(20))
        self.pass_time(21)
        with pytest.raises(LeaseLost, match=task.id):
            lease.renew()
        assert not lease.held
        assert self.take(self.open()).epoch == 2

    def test_a_late_renewal_is_refused_though_its_holder_renews_others(self, queue: Queue) -> None:
        for n in range(2):
            self.add(queue, {"n": n})
        late, other = self.take(queue, ttl=self.units(20)), self.take(queue, ttl=self.units(20))
        self.pass_time(15)
        other.renew()
        self.pass_time(6)
        with pytest.raises(LeaseLost, match=late.id):
            late.renew()
        other.renew()
        assert other.held

    def test_a_lost_lease_stays_lost(self, queue: Queue) -> None:
        self.add(queue)
        lease = self.take(queue, ttl=self.units(20))
        self.pass_time(21)
        self.take(self.open()).release()
        for _ in range(2):
            with pytest.raises(LeaseLost):
                lease.renew()

    def test_epochs_only_go_up(self, queue: Queue) -> None:
        task = self.add(queue)
        queues = [queue, self.open(), self.open()]
        for epoch in range(1, 9):
            lease = self.take(queues[epoch % 3], ttl=self.units(10))
            assert lease.epoch == epoch
            if epoch % 2:
                lease.release()
            elif epoch in (2, 6):
                self.pass_time(11)
            else:
                lease.fail("no")
                self.wait_until_due(queue, task.id)

    def test_a_released_task_is_ready_at_once_and_counts_as_no_attempt(self, queue: Queue) -> None:
        task = self.add(queue)
        self.take(queue).release()
        assert self.counts(queue) == {"ready": 1}
        lease = self.take(self.open())
        assert (lease.id, lease.epoch, lease.task.attempts, lease.task.deaths) == (task.id, 2, 0, 0)

    @pytest.mark.parametrize("renewals", [1, 4])
    def test_a_forgotten_lease_expires_though_others_of_its_holder_are_renewed(
        self, queue: Queue, renewals: int
    ) -> None:
        ids = {self.add(queue, {"n": n}).id for n in range(2)}
        forgotten, kept = self.take(queue, ttl=self.units(20)), self.take(queue, ttl=self.units(20))
        other = self.open()
        for _ in range(renewals):
            self.pass_time(12)
            kept.renew()
        self.pass_time(12)
        kept.renew()
        taken = self.take(other)
        assert taken.id == forgotten.id
        assert taken.id in ids - {kept.id}
        assert kept.held
        with pytest.raises(LeaseLost):
            forgotten.complete()
        kept.complete()

    def test_claiming_does_not_renew_what_is_forgotten(self, queue: Queue) -> None:
        first = self.add(queue)
        self.take(queue, ttl=self.units(20))
        for n in range(6):
            self.pass_time(6)
            self.add(queue, {"n": n})
            lease = self.take(queue, ttl=self.units(20))
            if lease.id == first.id:
                break
            lease.complete()
        else:
            lease = self.take(self.open())
        assert (lease.id, lease.epoch) == (first.id, 2)

    @needs("settings", "push")
    def test_max_runtime_ends_a_lease_that_is_renewed(self, queue: Queue) -> None:
        task = queue.push(1, max_runtime=self.units(30), max_attempts=5, backoff=0.0)
        lease = self.take(queue, ttl=self.units(20))
        self.pass_time(15)
        lease.renew()
        self.pass_time(16)
        assert not lease.held
        with pytest.raises(LeaseLost):
            lease.renew()
        self.pass_time(1)
        assert queue.get(task.id).state is State.READY
        assert "max_runtime" in queue.detail(task.id).history[0].error
        again = self.take(self.open())
        assert (again.epoch, again.task.attempts, again.task.deaths) == (2, 1, 0)

    @needs("settings", "push")
    def test_a_task_that_always_runs_too_long_fails(self, queue: Queue) -> None:
        task = queue.push(1, max_runtime=self.units(5), max_attempts=2, backoff=0.0)
        for _ in range(2):
            lease = self.take(queue, ttl=self.units(20))
            self.pass_time(6)
            with pytest.raises(LeaseLost):
                lease.renew()
        assert self.state(queue, task.id) is State.FAILED
        assert "max_runtime" in queue.why(task.id).text

    def test_a_lease_can_be_picked_up_by_its_epoch(self, queue: Queue) -> None:
        task = self.add(queue)
        lease = self.take(queue, ttl=self.units(20))
        other = self.open()
        found = other.lease(task.id, lease.epoch)
        assert (found.id, found.epoch, found.payload) == (task.id, 1, task.payload)
        self.pass_time(15)
        found.renew()
        self.pass_time(15)
        assert self.open().claim() is None
        found.complete("elsewhere")
        assert queue.detail(task.id).result == "elsewhere"
        with pytest.raises(LeaseLost):
            lease.complete("here")
        assert queue.detail(task.id).result == "elsewhere"

    def test_only_the_present_epoch_picks_a_lease_up(self, queue: Queue) -> None:
        task = self.add(queue)
        for epoch in (0, 1, 2):
            with pytest.raises(LeaseLost, match=task.id):
                queue.lease(task.id, epoch)
        lease = self.take(queue)
        for epoch in (0, 2):
            with pytest.raises(LeaseLost, match=task.id):
                queue.lease(task.id, epoch)
        lease.complete()
        with pytest.raises(LeaseLost, match=task.id):
            queue.lease(task.id, 1)

    @pytest.mark.parametrize("ttl", [0, -1, 1e9, float("nan"), float("inf"), "ten", None], ids=ascii)
    def test_what_is_no_ttl_is_refused(self, queue: Queue, ttl: object) -> None:
        self.add(queue)
        with pytest.raises(BadInput, match="ttl"):
            queue.claim(ttl=ttl)  # type: ignore[arg-type]
        with pytest.raises(BadInput, match="ttl"):
            queue.claim_many(1, ttl=ttl)  # type: ignore[arg-type]
        assert self.counts(queue) == {"ready": 1}

    @pytest.mark.parametrize("delay", [-1, float("nan"), float("inf"), 1e15, "soon"], ids=ascii)
    def test_a_release_that_is_refused_keeps_the_lease(self, queue: Queue, delay: object) -> None:
        self.add(queue)
        lease = self.take(queue)
        with pytest.raises(BadInput, match="delay"):
            lease.release(delay)  # type: ignore[arg-type]
        assert lease.held
        lease.complete()

    def test_a_result_that_is_no_json_is_refused_and_keeps_the_lease(self, queue: Queue) -> None:
        self.add(queue)
        lease = self.take(queue)
        for result in ({1, 2}, float("nan"), object(), "\ud800"):
            with pytest.raises(BadInput):
                lease.complete(result)
            assert lease.held
        lease.complete("good")
        assert queue.detail(lease.id).result == "good"
