"""How long tasks take, from what a look sees held: right for all tasks, though a look sees mostly the long ones."""

import random
from typing import Any

import pytest

from dibs.errors import TaskNotFound
from dibs.queues.views import Claim, Detail
from dibs.serve.dashboard.seen import MOST_ASKED, Seen, Took
from dibs.serve.dashboard.spread import Spread
from dibs.states import State
from dibs.task import Task


class Ended:
    """What a queue says of tasks that are over."""

    def __init__(self) -> None:
        self.details: dict[str, Detail] = {}

    def detail(self, ref: str) -> Detail:
        if ref not in self.details:
            raise TaskNotFound(ref)
        return self.details[ref]

    def end(self, claim: Claim, at: float, **task: Any) -> None:
        done = Task(**{"id": claim.id, "state": State.COMPLETED, "epoch": claim.epoch, "pushed_at": 1.0, **task})
        self.details[claim.id] = Detail(task=done, ended_at=at)


def claim(name: object, at: float, epoch: int = 1) -> Claim:
    return Claim(
        id=str(name), key=None, epoch=epoch, worker="w", host="h", pid=1,
        claimed_at=at, heartbeat_at=at, expires_at=at + 60, ttl=60,
    )  # fmt: skip


@pytest.fixture
def ended() -> Ended:
    return Ended()


@pytest.fixture
def seen(ended: Ended) -> Seen:
    return Seen(ended, random.Random(5))  # type: ignore[arg-type]


def test_the_figures_are_those_of_all_tasks(seen: Seen, ended: Ended) -> None:
    """Four workers; nine tasks of ten take 0.2 s, one takes 10 s; a look each second sees mostly the long ones."""
    rng = random.Random(11)
    runs = [10.0 if rng.random() < 0.1 else 0.2 for _ in range(8000)]
    free = [0.0] * 4
    leases = []
    for number, run in enumerate(runs):
        worker = min(range(4), key=free.__getitem__)
        begin = free[worker]
        free[worker] += run
        leases.append((begin, begin + run, claim(number, begin)))
    leases.sort(key=lambda lease: lease[0])
    true, unweighted, found = Spread(), Spread(), Spread()
    for run in runs:
        true.add(run)
    held: list[tuple[float, float, Claim]] = []
    for look in range(int(max(free))):
        while leases and leases[0][0] <= look:
            held.append(leases.pop(0))
        for _, end, one in held:
            if end <= look:
                ended.end(one, end)
        held = [lease for lease in held if lease[1] > look]
        for took in seen.look([one for _, _, one in held], 1.0):
            found.add(took.run, took.weight)
            unweighted.add(took.run)
    for share in (0.5, 0.85, 0.95):
        assert found.part(share) == pytest.approx(true.part(share), rel=0.01)
    assert unweighted.part(0.85) != pytest.approx(true.part(0.85), rel=0.5)


def test_of_many_that_ended_some_are_asked_for_and_stand_for_all(seen: Seen, ended: Ended) -> None:
    claims = [claim(number, 0.0) for number in range(500)]
    seen.look(claims, 1.0)
    for one in claims:
        ended.end(one, 5.0)
    took = seen.look([], 1.0)
    assert len(took) == MOST_ASKED
    assert sum(one.weight for one in took) == pytest.approx(500)


def test_only_what_was_completed_by_that_lease_counts(seen: Seen, ended: Ended) -> None:
    claims = [claim("gone", 0.0), claim("failed", 0.0), claim("taken over", 0.0), claim("good", 0.0)]
    seen.look(claims, 1.0)
    ended.end(claims[1], 5.0, state=State.FAILED)
    ended.end(claims[2], 5.0, epoch=2)
    ended.end(claims[3], 5.0)
    assert seen.look([], 1.0) == [Took(0.0, 5.0, 1.0)]


def test_a_wait_is_known_where_it_is_known_when_it_began(seen: Seen, ended: Ended) -> None:
    claims = [claim("plain", 9.0), claim("delayed", 9.0), claim("blocked", 9.0), claim("again", 9.0, epoch=2)]
    seen.look(claims, 1.0)
    ended.end(claims[0], 10.0, pushed_at=4.0)
    ended.end(claims[1], 10.0, pushed_at=4.0, not_before=8.0)
    ended.end(claims[2], 10.0, pushed_at=4.0, after=("other",))
    ended.end(claims[3], 10.0, pushed_at=4.0)
    assert [took.wait for took in seen.look([], 1.0)] == [5.0, 1.0, None, None]
