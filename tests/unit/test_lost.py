"""What a worker is told whose lease no longer holds."""

import pytest

import dibs
from dibs.errors import LeaseLost
from dibs.queues.lost import refused


@pytest.mark.parametrize(
    ("standing", "words"),
    [
        ((), "no longer in the queue; work done here at epoch 2 is not recorded"),
        (("ready", 2), "now ready (epoch 2); work"),
        (("completed", 3), "now completed (epoch 3); work"),
        (("claimed", 2), "past its time; work"),
        (("claimed", 3, "w on pi"), "now held by w on pi (epoch 3); work"),
        (("completed", 2), "already completed at epoch 2; that is recorded"),
    ],
)
def test_words(standing: tuple[str, int], words: str) -> None:
    assert words in str(refused("t", 2, *standing))


def test_who_completes_again_is_told_that_it_is_recorded() -> None:
    with dibs.open("memory:") as queue:
        task = queue.push(1)
        lease = queue.claim()
        assert lease is not None
        lease.complete()
        with pytest.raises(LeaseLost, match="already completed at epoch 1; that is recorded"):
            queue.lease(task.id, 1)
