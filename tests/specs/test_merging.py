"""Merging two versions of a spec: by field, with git's text merge for the rest."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dibs.specs.frontmatter import BadSpec, edit, read
from dibs.specs.merging import merge
from dibs.specs.settling import ABSENT, CONFLICT, settled

RANKS = {"pending": 0, "in_progress": 1, "failed": 2, "cancelled": 2, "completed": 3}
rank: Callable[[str], int] = RANKS.__getitem__

BASE = b"""---
# head
status: pending  # now
priority: 5
labels: [a, b]
depends_on:
  - one
  - two  # why
title: 'Old'
# tail
---
# Body

first

second

third
"""


def changed(*pairs: tuple[bytes, bytes], base: bytes = BASE) -> bytes:
    for old, new in pairs:
        assert base.count(old) == 1, old
        base = base.replace(old, new)
    return base


def test_each_side_changes_another_field_and_the_body() -> None:
    ours = changed((b"priority: 5", b"priority: 9"), (b"first", b"FIRST"))
    theirs = changed((b"title: 'Old'", b'title: "New"  # better'), (b"third", b"THIRD"))
    both = changed(
        (b"priority: 5", b"priority: 9"),
        (b"first", b"FIRST"),
        (b"title: 'Old'", b'title: "New"  # better'),
        (b"third", b"THIRD"),
    )
    assert merge(BASE, ours, theirs, rank) == (both, False)
    assert merge(BASE, theirs, ours, rank) == (both, False)


def test_neighbouring_fields_are_no_conflict() -> None:
    ours = changed((b"status: pending", b"status: in_progress"))
    theirs = changed((b"priority: 5", b"priority: 9"))
    merged = changed((b"status: pending", b"status: in_progress"), (b"priority: 5", b"priority: 9"))
    assert merge(BASE, ours, theirs, rank) == (merged, False)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["lf", "crlf"])
def test_the_more_advanced_status_wins(end: bytes) -> None:
    base, ours, theirs = (
        version.replace(b"\n", end)
        for version in (BASE, edit(BASE, {"status": "in_progress"}), edit(BASE, {"status": "completed"}))
    )
    assert merge(base, ours, theirs, rank) == (theirs, False)
    assert merge(base, theirs, ours, rank) == (theirs, False)


def test_fields_that_both_sides_added_at_the_end() -> None:
    ours = edit(BASE, {"status": "in_progress", "started_by": "me", "attempts": 1})
    theirs = edit(BASE, {"attempts": 1, "project": "web", "labels": ["a", "b", "c"]})
    merged = edit(ours, {"labels": ["a", "b", "c"], "project": "web"})
    assert merge(BASE, ours, theirs, rank) == (merged, False)


def test_lists_are_united() -> None:
    ours = edit(BASE, {"labels": ["b", "c"], "depends_on": ["one", "two", "three"]})
    theirs = edit(BASE, {"labels": ["a", "b", "d"], "depends_on": ["two", "four"]})
    merged, conflicts = merge(BASE, ours, theirs, rank)
    assert not conflicts
    assert read(merged)["labels"] == ["b", "c", "d"]
    assert read(merged)["depends_on"] == ["two", "three", "four"]
    assert b"depends_on:\n  - two  # why\n  - three\n  - four\ntitle: 'Old'\n" in merged


def test_a_real_conflict_stays_one() -> None:
    ours = changed((b"title: 'Old'", b"title: 'Mine'"), (b"first", b"FIRST"))
    theirs = changed((b"title: 'Old'", b"title: 'Yours'"), (b"status: pending", b"status: completed"))
    marks = b"<<<<<<< ours\ntitle: 'Mine'\n=======\ntitle: 'Yours'\n>>>>>>> theirs\n"
    wanted = changed((b"title: 'Old'\n", marks), (b"first", b"FIRST"), (b"status: pending", b"status: completed"))
    assert merge(BASE, ours, theirs, rank) == (wanted, True)
    with pytest.raises(BadSpec, match="line 9: a merge conflict"):
        read(wanted)


def test_statuses_of_one_rank_conflict() -> None:
    merged, conflicts = merge(BASE, edit(BASE, {"status": "failed"}), edit(BASE, {"status": "cancelled"}), rank)
    assert conflicts
    assert b"<<<<<<< ours\nstatus: failed  # now\n=======\nstatus: cancelled  # now\n>>>>>>> theirs\n" in merged


def test_changed_here_and_removed_there() -> None:
    ours, theirs = edit(BASE, {"priority": None}), edit(BASE, {"priority": 9})
    merged, conflicts = merge(BASE, ours, theirs, rank)
    assert conflicts
    assert b"# tail\n<<<<<<< ours\n=======\npriority: 9\n>>>>>>> theirs\n---\n" in merged
    merged, conflicts = merge(BASE, theirs, ours, rank)
    assert conflicts
    assert b"# now\n<<<<<<< ours\npriority: 9\n=======\n>>>>>>> theirs\nlabels" in merged


def test_removed_here_and_untouched_there() -> None:
    ours = edit(BASE, {"priority": None})
    theirs = edit(BASE, {"title": "New"})
    both = edit(ours, {"title": "New"})
    assert merge(BASE, ours, theirs, rank) == (both, False)
    assert merge(BASE, theirs, ours, rank) == (both, False)


def test_conflict_in_the_body_only() -> None:
    ours = changed((b"first", b"mine"), (b"priority: 5", b"priority: 6"))
    theirs = changed((b"first", b"yours"), (b"title: 'Old'", b"title: New"))
    merged, conflicts = merge(BASE, ours, theirs, rank)
    assert conflicts
    assert b"<<<<<<< ours\nmine\n=======\nyours\n>>>>>>> theirs\n" in merged
    assert read(merged) == read(BASE) | {"priority": 6, "title": "New"}


def test_comments_of_both_sides_stay() -> None:
    ours = changed((b"# head", b"# our head"), (b"status: pending", b"status: in_progress"))
    theirs = changed((b"# tail", b"# their tail"), (b"status: pending  # now", b"status: completed  # at last"))
    wanted = changed((b"# head", b"# our head"), (b"# tail", b"# their tail"))
    wanted = changed((b"status: pending  # now", b"status: completed  # at last"), base=wanted)
    assert merge(BASE, ours, theirs, rank) == (wanted, False)


def test_a_comment_behind_a_value_changes_too() -> None:
    ours = changed((b"priority: 5", b"priority: 9"))
    theirs = changed((b"pending  # now", b"pending  # later"))
    wanted = changed((b"priority: 5", b"priority: 9"), (b"pending  # now", b"pending  # later"))
    assert merge(BASE, ours, theirs, rank) == (wanted, False)
    assert merge(BASE, theirs, ours, rank) == (wanted, False)


def test_values_that_only_the_parser_reads() -> None:
    base = changed((b"title: 'Old'", b"title: 'Old'\ncustom:\n  x: {y: 1}\n  z: |\n    one"))
    ours = changed((b"priority: 5", b"priority: 9"), base=base)
    theirs = changed((b"x: {y: 1}", b"x: {y: 2}"), (b"    one", b"    one\n    two"), base=base)
    wanted = changed((b"priority: 5", b"priority: 9"), base=theirs)
    assert merge(base, ours, theirs, rank) == (wanted, False)


def test_both_added_the_file() -> None:
    ours = b"---\nstatus: pending\nlabels: [a]\n---\nsame\n"
    theirs = b"---\nstatus: completed\nlabels: [b]\nx: 1\n---\nsame\n"
    merged, conflicts = merge(b"", ours, theirs, rank)
    assert (merged, conflicts) == (b"---\nstatus: completed\nlabels: [a, b]\nx: 1\n---\nsame\n", False)


def test_both_added_the_file_with_comments() -> None:
    ours = b"---\nstatus: pending\n---\nsame\n"
    theirs = b"---\n# theirs\nstatus: completed\n---\nsame\n"
    wanted = b"---\n<<<<<<< ours\nstatus: completed\n=======\n# theirs\n>>>>>>> theirs\n---\nsame\n"
    assert merge(b"", ours, theirs, rank) == (wanted, True)


def test_a_body_added_behind_a_fence_without_line_end() -> None:
    base = b"---\na: 1\n---"
    assert merge(base, b"---\na: 2\n---", base + b"\nbody\n", rank) == (b"---\na: 2\n---\nbody\n", False)


def test_one_side_adds_frontmatter() -> None:
    base = b"one\n\ntwo\n\nthree\n"
    ours = b"one\n\ntwo\n\nTHREE\n"
    theirs = b"---\nstatus: pending\n---\none\n\ntwo\n\nthree\n"
    wanted = b"---\nstatus: pending\n---\none\n\ntwo\n\nTHREE\n"
    assert merge(base, ours, theirs, rank) == (wanted, False)
    assert merge(base, theirs, ours, rank) == (wanted, False)
    assert merge(base, ours, b"ONE\n\ntwo\n\nthree\n", rank) == (b"ONE\n\ntwo\n\nTHREE\n", False)


@pytest.mark.parametrize("bad", [b"status: x\nstatus: y\n", b"a: *b\n", b"\xff: 1\n", b"{status: x}\n"])
def test_what_cannot_be_merged_by_field_is_merged_as_text(bad: bytes) -> None:
    base = b"---\n" + bad + b"---\none\n\n\n\ntwo\n"
    ours, theirs = base.replace(b"one", b"ONE"), base.replace(b"two", b"TWO")
    assert merge(base, ours, theirs, rank) == (base.replace(b"one", b"ONE").replace(b"two", b"TWO"), False)
    merged, conflicts = merge(base, ours, base.replace(b"one", b"other"), rank)
    assert conflicts
    assert b"<<<<<<< ours" in merged


def test_fields_that_share_a_line_are_not_mixed_up() -> None:
    base, ours, theirs = (b"---\n" + line + b"\n---\n" for line in (b"{a: 1, b: 2}", b"{a: 5, b: 2}", b"{a: 1, b: 9}"))
    merged, conflicts = merge(base, ours, theirs, rank)
    assert conflicts
    assert b"<<<<<<< ours\n{a: 5, b: 2}\n=======\n{a: 1, b: 9}\n>>>>>>> theirs\n" in merged


def test_a_body_that_is_no_text_stays_ours() -> None:
    base, ours, theirs = (b"---\na: 1\n---\n\x00" + text for text in (b"1\n", b"2\n", b"3\n"))
    assert merge(base, ours, theirs, rank) == (ours, True)


def test_one_side_or_none_changed() -> None:
    other = changed((b"first", b"FIRST"))
    assert merge(BASE, BASE, other, rank) == (other, False)
    assert merge(BASE, other, BASE, rank) == (other, False)
    assert merge(BASE, other, other, rank) == (other, False)


SETTLED: list[tuple[str, Any, Any, Any, Any]] = [
    ("x", 1, 1, 2, 2),
    ("x", 1, 2, 1, 2),
    ("x", 1, 2, 2, 2),
    ("x", 1, 2, 3, CONFLICT),
    ("x", 1, True, 1, True),
    ("x", 1, True, 2, CONFLICT),
    ("x", 1, ABSENT, 1, ABSENT),
    ("x", 1, ABSENT, 2, CONFLICT),
    ("x", ABSENT, 1, ABSENT, 1),
    ("x", ABSENT, 1, 2, CONFLICT),
    ("status", ABSENT, "pending", "completed", "completed"),
    ("status", "pending", None, "completed", CONFLICT),
    ("labels", "a", "b", "c", ["b", "c"]),
    ("labels", ABSENT, "a", ["b"], ["a", "b"]),
    ("labels", ["a"], ABSENT, ["a", "b"], ["b"]),
    ("labels", ["a", "b"], ABSENT, ["a"], ABSENT),
    ("labels", ["a", "b"], ["a"], ["b"], []),
    ("labels", ["a"], ["a", "b"], "b", "b"),
    ("labels", ["a"], [{"b": 1}], ["c"], CONFLICT),
    ("labels", 1, 2, ["c"], CONFLICT),
    ("members", ["a"], ["a", 1], ["a", True], ["a", 1, True]),
    ("members", ["a"], "b", ["c"], CONFLICT),
]


@pytest.mark.parametrize(("key", "base", "ours", "theirs", "value"), SETTLED)
def test_settled(key: str, base: Any, ours: Any, theirs: Any, value: Any) -> None:
    assert repr(settled(key, base, ours, theirs, rank)) == repr(value)


fields = st.fixed_dictionaries(
    {},
    optional={
        "status": st.sampled_from(list(RANKS)),
        "labels": st.lists(st.sampled_from("abcd"), unique=True, max_size=3),
        "depends_on": st.sampled_from("abcd") | st.lists(st.sampled_from("abcd"), unique=True, min_size=1, max_size=3),
        "title": st.sampled_from(["A", "B: c", "D"]),
        "attempts": st.integers(0, 2),
    },
)


@settings(max_examples=60, deadline=None)
@given(fields, fields, fields)
def test_generated_versions_come_out_field_by_field(
    base: dict[str, Any], ours: dict[str, Any], theirs: dict[str, Any]
) -> None:
    texts = [edit(b"---\n# c\nz: 1\n---\nbody\n", version) for version in (base, ours, theirs)]
    values = {
        key: settled(key, base.get(key, ABSENT), ours.get(key, ABSENT), theirs.get(key, ABSENT), rank)
        for key in {*base, *ours, *theirs}
    }
    merged, conflicts = merge(texts[0], texts[1], texts[2], rank)
    assert conflicts == (CONFLICT in values.values())
    assert merged.count(b"<<<<<<< ours\n") == sum(value is CONFLICT for value in values.values())
    if not conflicts:
        kept = {key: value for key, value in values.items() if value is not ABSENT}
        assert read(merged) == {"z": 1} | kept


def test_as_a_driver_of_git(tmp_path: Any) -> None:
    """The result of a merge by git itself, with `merge` as its driver."""
    driver = tmp_path / "driver.py"
    driver.write_text(
        "import sys\nfrom dibs.specs.merging import merge\n"
        "base, ours, theirs = (open(name, 'rb').read() for name in sys.argv[1:4])\n"
        "merged, conflicts = merge(base, ours, theirs, ['pending', 'in_progress', 'completed'].index)\n"
        "open(sys.argv[2], 'wb').write(merged)\nsys.exit(conflicts)\n"
    )
    repository = tmp_path / "repository"
    repository.mkdir()

    def git(*arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=repository, check=True, capture_output=True)

    def commit(data: bytes) -> None:
        (repository / "spec.md").write_bytes(data)
        git("add", "-A")
        git("commit", "-qm", "x")

    git("init", "-q", "-b", "main")
    git("config", "user.name", "t")
    git("config", "user.email", "t@example.com")
    git("config", "merge.spec.driver", f"{sys.executable} {driver} %O %A %B")
    (repository / ".gitattributes").write_text("*.md merge=spec\n")
    commit(BASE)
    git("checkout", "-qb", "other")
    commit(edit(BASE, {"status": "completed", "labels": ["a", "b", "x"]}))
    git("checkout", "-q", "main")
    commit(edit(BASE, {"status": "in_progress", "labels": ["b", "y"]}))
    git("merge", "-q", "other")
    assert read((repository / "spec.md").read_bytes()) == read(BASE) | {
        "status": "completed",
        "labels": ["b", "y", "x"],
    }
