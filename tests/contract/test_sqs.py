"""The contract on `sqs:`, as far as it goes without records: SQS cannot tell what became of a task.

Most tests of the suite look a task up afterwards. Those that look at leases alone, and need no steady hand with time,
are run here, by name; `tests/sqs` has the rest in SQS's own terms. Visibility is in whole seconds, and a busy machine
may take one to answer: four units of the suite's time are one.
"""

from typing import Any

import pytest

import dibs
from dibs.queues.queue import Queue
from dibs.queues.sqs import SqsQueue
from dibs.testing import QueueContract
from sqs.server import Server, sqs_server

__all__ = ["sqs_server"]

RUN = [
    "test_the_capabilities_are_as_declared",
    "test_undeclared_features_are_refused",
    "test_an_empty_queue_has_nothing_to_claim",
    "test_ids_are_unique_and_sort_by_time",
    "test_what_another_pushed_before_the_claim_is_found",
    "test_a_time_may_be_given",
    "test_a_renewal_that_comes_too_late_is_refused_though_nobody_took_the_task",
    "test_a_lost_lease_stays_lost",
    "test_only_the_present_epoch_picks_a_lease_up",
    "test_what_is_no_ttl_is_refused",
    "test_a_release_that_is_refused_keeps_the_lease",
    "test_without_beats_it_expires_and_a_late_beat_is_refused",
    "test_ending_twice_or_what_is_unknown_does_no_harm",
    "test_a_batch_is_as_large_as_asked_or_as_there_is",
    "test_two_batches_share_no_task",
    "test_a_batch_of_nothing_is_refused",
    "test_without_waiting_there_is_one_look",
    "test_waiting_ends_in_time_and_looks_seldom",
    "test_a_task_that_is_there_needs_no_waiting",
    "test_waiting_finds_what_becomes_due",
    "test_waiting_finds_what_expires",
    "test_claims_go_on_until_the_queue_stays_empty",
    "test_a_payload_nested_too_deep_is_refused",
    "test_what_push_accepts_every_worker_can_read",
]


class OfLeases(QueueContract):
    """The contract without the tests that look tasks up."""

    capabilities = SqsQueue.capabilities
    real_time = True
    tick = 0.25


for _name in [name for name in dir(OfLeases) if name.startswith("test_") and name not in RUN]:
    setattr(OfLeases, _name, None)


class TestSqs(OfLeases):
    @pytest.fixture(autouse=True)
    def _serve(self, sqs_server: Server) -> None:
        self.url = sqs_server.url()

    def make_queue(self, **options: Any) -> Queue:
        return dibs.open(self.url, **options)

    def place(self) -> str:
        return self.url


def test_every_test_named_here_exists() -> None:
    assert [name for name in RUN if not hasattr(QueueContract, name)] == []
