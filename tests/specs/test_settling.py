"""Fields that tell one story are settled together; see `dibs.specs.settling`."""

from typing import Any

import pytest

from dibs.specs.frontmatter import edit, read
from dibs.specs.merging import merge
from dibs.specs.settling import ABSENT, CONFLICT, settle, settled
from dibs.specs.statuses import rank

CLAIMED = {"status": "in_progress", "started_by": "ann", "started_at": "2026-11-16T09:00:00Z"}
BOB = {"started_by": "bob", "started_at": "2026-11-16T09:30:00Z"}
DONE = {"status": "completed", "completed_at": "2026-11-16T10:00:00Z"}

Fields = dict[str, Any]


def both_ways(base: Fields, ours: Fields, theirs: Fields) -> Fields:
    """The merged fields, which must not depend on who merges."""
    one, other = settle(base, ours, theirs, rank), settle(base, theirs, ours, rank)
    assert one == other
    return {key: value for key, value in one.items() if value is not ABSENT}


def test_two_who_complete_the_same_spec_merge_to_the_first() -> None:
    ann = CLAIMED | DONE
    bob = DONE | BOB | {"completed_at": "2026-11-16T09:45:00Z"}
    assert both_ways({"status": "pending"}, ann, bob) == bob
    assert both_ways(CLAIMED, ann, bob) == bob


def test_times_are_compared_as_times() -> None:
    ann = CLAIMED | DONE  # 10:00 in UTC
    bob = DONE | BOB | {"completed_at": "2026-11-16T10:30:00+01:00"}
    assert both_ways({"status": "pending"}, ann, bob) == bob


def test_two_who_complete_in_the_same_second_merge_to_the_same_one_everywhere() -> None:
    assert both_ways({"status": "pending"}, CLAIMED | DONE, DONE | BOB) in (CLAIMED | DONE, DONE | BOB)


def test_the_story_is_that_of_the_status_that_won() -> None:
    done = CLAIMED | DONE
    failed = CLAIMED | BOB | {"status": "failed", "error": "no disk"}
    assert both_ways({"status": "pending"}, done, failed) == done
    released = {"status": "pending"}
    assert both_ways(CLAIMED, done, released) == done
    taken_over = CLAIMED | BOB
    assert both_ways(CLAIMED, done, taken_over) == done


def test_what_one_side_alone_changed_stays() -> None:
    cancelled = {"status": "cancelled"}
    assert both_ways({"status": "pending"}, CLAIMED, cancelled) == CLAIMED | cancelled
    assert both_ways(CLAIMED, CLAIMED | {"error": "x"}, CLAIMED | {"project": "p"}) == CLAIMED | {
        "error": "x",
        "project": "p",
    }


def test_two_claims_are_a_conflict() -> None:
    found = settle({"status": "pending"}, CLAIMED, CLAIMED | BOB, rank)
    assert found == {"status": "in_progress", "started_by": CONFLICT, "started_at": CONFLICT}


def test_no_side_wins_by_a_status_or_a_time_that_is_none() -> None:
    found = settle({}, {"status": "odd", "error": "x"}, {"status": "even", "error": "y"}, rank)
    assert found == {"status": CONFLICT, "error": CONFLICT}
    found = settle({}, DONE | {"completed_at": "then"}, DONE, rank)
    assert found == {"status": "completed", "completed_at": CONFLICT}


@pytest.mark.parametrize(
    ("key", "base", "ours", "theirs", "value"),
    [
        ("attempts", 1, 2, 3, 3),
        ("attempts", 5, 4, 3, 4),
        ("attempts", 1, ABSENT, 2, 2),
        ("epoch", ABSENT, 7, 4, 7),
        ("epoch", 1, 2, True, CONFLICT),
        ("epoch", 1, 2, "x", CONFLICT),
        ("heartbeat_at", ABSENT, "2026-11-16T10:00:00Z", "2026-11-16T10:30:00+01:00", "2026-11-16T10:00:00Z"),
    ],
)
def test_what_only_grows_keeps_the_larger(key: str, base: Any, ours: Any, theirs: Any, value: Any) -> None:
    assert settled(key, base, ours, theirs, rank) == value
    assert settled(key, base, theirs, ours, rank) == value


def test_in_a_file_the_lines_of_the_winner_are_taken() -> None:
    base = b"---\nstatus: pending # ?\ntitle: x\n---\ntext\n"
    ours = edit(base, CLAIMED | DONE | {"attempts": 1})
    theirs = edit(base, DONE | BOB | {"completed_at": "2026-11-16T09:45:00Z", "attempts": 2, "error": "a warning"})
    merged, conflicts = merge(base, ours, theirs, rank)
    assert not conflicts
    assert read(merged) == read(theirs)
    assert b"status: completed # ?\ntitle: x\n" in merged
