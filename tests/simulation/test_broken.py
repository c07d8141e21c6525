"""The simulation is tested itself: each known way to get the protocol wrong is caught, by the violation it leads to,
and the unbroken code passes the same schedules."""

from typing import Any

from .broken import (
    BlindPush,
    DeleteThenCreate,
    FinishUncompared,
    ForeignWallClock,
    LateRenewal,
    NumberedRecords,
    OldReading,
    ReadThenWrite,
    SlowHelper,
    UnlockedFile,
    UnlookedSeed,
    broken,
)
from .broken_markers import DeadAtOnce, NoOwnDeadline, OwnDroppedFirst, StaleDeleted, UnlookedTakeover, Unmarked
from .broken_priorities import CopyThenDelete, PrioritisedWhileHeld
from .broken_shares import RenamedOnShare, UnblankedOnShare
from .schedule import Outcome, run

WITHIN = 5000


def caught(variant: Any, *kinds: str) -> None:
    seed = _first(variant, kinds).seed
    for unbroken in range(max(0, seed - 60), seed + 1):
        assert run(unbroken, variant.backend).violation is None


def _first(variant: Any, kinds: tuple[str, ...]) -> Outcome:
    with broken(variant):
        for seed in range(WITHIN):
            outcome = run(seed, variant.backend, variant=variant)
            if outcome.violation is not None and outcome.violation.kind in kinds:
                return outcome
    raise AssertionError(f"{variant.__name__} was not caught within {WITHIN} schedules as {' or '.join(kinds)}")


def test_delete_then_create_takeover_is_caught() -> None:
    caught(DeleteThenCreate, "epoch twice")


def test_finish_without_comparing_the_version_is_caught() -> None:
    caught(FinishUncompared, "illegal step")


def test_lock_by_read_then_write_is_caught() -> None:
    caught(ReadThenWrite, "stolen")


def test_numbered_records_with_cleaning_are_caught() -> None:
    caught(NumberedRecords, "epoch twice")


def test_expiry_by_another_hosts_wall_clock_is_caught() -> None:
    caught(ForeignWallClock, "stolen")


def test_late_renewal_accepted_is_caught() -> None:
    caught(LateRenewal, "two believe", "stolen")


def test_push_retried_blindly_is_caught() -> None:
    caught(BlindPush, "not one cell", "pushed twice")


def test_key_record_deleted_by_a_slow_helper_is_caught() -> None:
    caught(SlowHelper, "key twice")


def test_old_reading_judged_by_a_new_clock_is_caught() -> None:
    caught(OldReading, "stolen", "two believe")


def test_a_first_step_that_does_not_look_for_its_seed_is_caught() -> None:
    caught(UnlookedSeed, "untrue answer", "risen")


def test_a_file_that_is_written_without_its_lock_is_caught() -> None:
    caught(UnlockedFile, "illegal step", "epoch twice", "risen")


def test_a_priority_changed_by_copying_is_caught() -> None:
    caught(CopyThenDelete, "not one cell")


def test_a_priority_changed_while_the_task_is_held_is_caught() -> None:
    caught(PrioritisedWhileHeld, "illegal step")


def test_a_contested_rename_that_lets_two_through_is_caught_without_markers() -> None:
    caught(Unmarked, "not one cell", "pushed twice")


def test_a_stale_marker_that_is_deleted_and_made_anew_is_caught() -> None:
    caught(StaleDeleted, "two of one")


def test_a_marker_without_an_own_deadline_is_caught() -> None:
    caught(NoOwnDeadline, "two of one")


def test_a_takeover_that_does_not_look_again_is_caught() -> None:
    caught(UnlookedTakeover, "two of one")


def test_markers_removed_from_the_highest_down_are_caught() -> None:
    caught(OwnDroppedFirst, "two of one")


def test_a_dead_ones_marker_that_is_not_waited_for_is_caught() -> None:
    caught(DeadAtOnce, "two of one")


def test_a_record_of_a_share_that_is_replaced_by_renaming_is_caught() -> None:
    caught(RenamedOnShare, "illegal step", "two believe")


def test_a_record_of_a_share_that_is_removed_with_its_content_is_caught() -> None:
    caught(UnblankedOnShare, "illegal step", "two believe")
