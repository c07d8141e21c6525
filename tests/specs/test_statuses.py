"""The table of statuses: what leads where, what is more advanced, what the queue makes of it."""

from pathlib import Path

import pytest

from dibs.errors import Refused
from dibs.specs.statuses import STEPS, Status, check, mermaid, rank, state_of, status_of
from dibs.states import STEPS as STATE_STEPS
from dibs.states import State


def test_every_status_is_named_as_documented() -> None:
    assert [*Status] == [
        "pending",
        "blocked",
        "in_progress",
        "paused",
        "completed",
        "failed",
        "needs_attention",
        "cancelled",
    ]


@pytest.mark.parametrize("step", sorted(STEPS.keys() & STATE_STEPS.keys()))
def test_steps_agree_with_those_of_every_queue(step: str) -> None:
    """A step of a spec starts from, and leads to, states that the same step of a task allows."""
    sources, targets = STEPS[step]
    allowed_sources, allowed_targets = STATE_STEPS[step]
    assert {state_of(status) for status in sources} <= allowed_sources
    assert {state_of(status) for status in targets} <= allowed_targets


def test_only_retry_leads_out_of_an_end() -> None:
    ends = {Status.COMPLETED, Status.FAILED, Status.NEEDS_ATTENTION, Status.CANCELLED}
    assert {step for step, (sources, _) in STEPS.items() if sources & ends} == {"retry"}
    assert Status.COMPLETED not in STEPS["retry"][0]


def test_a_step_that_is_not_allowed_is_refused_with_what_would_be() -> None:
    check(Status.PENDING, "claim")
    with pytest.raises(Refused, match="cannot claim a spec that is completed; it must be pending"):
        check(Status.COMPLETED, "claim")
    check(Status.IN_PROGRESS, "fail", Status.NEEDS_ATTENTION)
    with pytest.raises(Refused, match="leads to failed or needs_attention or pending"):
        check(Status.IN_PROGRESS, "fail", Status.COMPLETED)


def test_work_done_outranks_work_under_way_outranks_work_waiting() -> None:
    order = ["pending", "blocked", "paused", "in_progress", "needs_attention", "failed", "cancelled", "completed"]
    assert sorted(Status, key=rank) == order
    assert rank("nonsense") == -1 < rank("pending")


def test_ready_is_another_word_for_pending() -> None:
    assert status_of("ready") is Status.PENDING
    assert rank("ready") == rank("pending")
    assert status_of("Pending") is None


@pytest.mark.parametrize(
    ("status", "met", "locked", "due", "state"),
    [
        ("pending", True, False, True, State.READY),
        ("pending", False, False, True, State.BLOCKED),
        ("pending", False, False, False, State.BLOCKED),
        ("pending", True, False, False, State.SCHEDULED),
        ("pending", True, True, True, State.CLAIMED),
        ("in_progress", True, False, True, State.CLAIMED),
        ("in_progress", True, True, True, State.CLAIMED),
        ("blocked", True, False, True, State.BLOCKED),
        ("paused", True, False, True, State.BLOCKED),
        ("paused", True, True, True, State.CLAIMED),
        ("completed", True, True, True, State.COMPLETED),
        ("failed", True, True, True, State.FAILED),
        ("needs_attention", True, False, True, State.FAILED),
        ("cancelled", False, False, True, State.CANCELLED),
    ],
)
def test_what_the_queue_makes_of_a_status(status: str, met: bool, locked: bool, due: bool, state: State) -> None:
    assert state_of(Status(status), met=met, locked=locked, due=due) is state


def test_the_drawing_has_every_status_and_every_step() -> None:
    text = mermaid()
    assert text.startswith("stateDiagram-v2\n")
    arrows = [line.split(": ", 1) for line in text.splitlines() if ": " in line]
    drawn = {(arrow.strip(), step) for arrow, steps in arrows for step in steps.split(", ")}
    for step, (sources, targets) in STEPS.items():
        for source in sources:
            for target in targets:
                assert (f"{source} --> {target}", step) in drawn
    assert len(drawn) == 1 + sum(len(sources) * len(targets) for sources, targets in STEPS.values())


def test_the_guide_draws_the_table() -> None:
    guide = Path(__file__).parents[2] / "docs" / "guides" / "specs.md"
    assert mermaid() in guide.read_text()
