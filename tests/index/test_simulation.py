"""Compactors, writers and readers under crashes, pauses past the lock's expiry, lost answers, old listings: nothing is
lost, the latest wins, no reader goes back in time. And each known way to get it wrong is caught."""

import os
from collections import Counter
from typing import Any

import pytest
from tests.index import broken
from tests.index.schedule import Outcome, run

SCHEDULES = 20_000 if os.environ.get("DIBS_LONG") else 300
LOTS = 2
WITHIN = 3000


@pytest.mark.parametrize("lot", range(LOTS))
def test_nothing_is_lost_and_the_latest_wins(lot: int) -> None:
    troubles: Counter[str] = Counter()
    merges = 0
    for seed in range(lot * SCHEDULES, (lot + 1) * SCHEDULES):
        outcome = run(seed)
        assert outcome.violation is None, f"seed {seed}: {outcome.violation}; python -m tests.index.schedule {seed}"
        troubles.update(outcome.troubles)
        merges += outcome.merges
    expected = {"crash", "pause", "long pause", "stale", "lost", "vanished", "doubled", "refused", "jump", "reboot"}
    assert not {trouble for trouble in expected if troubles[trouble] < 5}
    assert merges > SCHEDULES


def test_a_seed_is_a_schedule() -> None:
    for seed in range(5):
        first, again = (run(seed, trace=True) for _ in range(2))
        assert first.trace == again.trace
        assert first.trace


@pytest.mark.parametrize(
    ("variant", "kinds"),
    [
        (broken.ReadThenWriteLock, ("stolen",)),
        (broken.delete_by_key, ("lost", "gap", "back")),
        (broken.missing_if_match, ("lost", "gap", "back")),
        (broken.arrival_order, ("lost", "gap", "back")),
        (broken.cleaned_first, ("lost", "gap", "back")),
        (broken.appended, ("double", "unsound")),
        (broken.shard_first, ("gap", "back")),
        (broken.forgetful, ("back",)),
        (broken.alarmed, ("alarm",)),
    ],
)
def test_a_broken_variant_is_caught(variant: Any, kinds: tuple[str, ...]) -> None:
    seed = _first(variant, kinds).seed
    for unbroken in range(max(0, seed - 20), seed + 1):
        assert run(unbroken).violation is None


def _first(variant: Any, kinds: tuple[str, ...]) -> Outcome:
    for seed in range(WITHIN):
        outcome = run(seed, variant=variant)
        if outcome.violation is not None and outcome.violation.kind in kinds:
            return outcome
    raise AssertionError(f"{variant.__name__} was not caught within {WITHIN} schedules as {' or '.join(kinds)}")
