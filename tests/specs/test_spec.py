"""What one file says, as a value; what it says wrongly, with field and line."""

import json
from dataclasses import asdict
from typing import Any

import pytest

from dibs.specs.badspec import BadSpec
from dibs.specs.fields import READINGS, title_of, values_of
from dibs.specs.spec import Spec, from_bytes, from_values
from dibs.specs.statuses import Status


def spec(front: str, body: str = "# Title\n") -> Spec:
    return from_bytes("it", "specs/it.md", f"---\n{front}\n---\n{body}".encode())


FULL = """\
status: in_progress
priority: high
depends_on:
  - first
  - second.md
labels: [a, b, a]
project: shop
type: driver
approval: approved
members: [it.1, it.2]
started_by: ann
started_at: 2026-11-16T09:00:00Z
completed_at: 2026-11-16T10:00:00Z
attempts: 2
max_attempts: 5
error: it broke
not_before: 2026-11-16T09:00:00Z
branch: fix/it
files: [x, y]"""


def test_every_field() -> None:
    assert spec(FULL) == Spec(
        id="it",
        path="specs/it.md",
        title="Title",
        status=Status.IN_PROGRESS,
        priority=100,
        depends_on=("first", "second"),
        labels=("a", "b"),
        project="shop",
        type="driver",
        approval="approved",
        members=("it.1", "it.2"),
        started_by="ann",
        started_at="2026-11-16T09:00:00Z",
        completed_at="2026-11-16T10:00:00Z",
        attempts=2,
        max_attempts=5,
        error="it broke",
        not_before=1794819600.0,
        more={"branch": "fix/it", "files": ["x", "y"]},
    )
    assert spec(FULL).waits_for == ("first", "second", "it.1", "it.2")


def test_every_known_field_is_a_field_of_the_value() -> None:
    assert set(asdict(spec(FULL))) == {*READINGS, "id", "path", "title", "more"}


def test_values_survive_json() -> None:
    values = values_of(f"---\n{FULL}\n---\n# Title\n".encode())
    assert from_values("it", "specs/it.md", json.loads(json.dumps(values))) == spec(FULL)


@pytest.mark.parametrize("front", ["", "# nothing", "status:\npriority:\nlabels: []\ndepends_on: ~"])
def test_nothing_said_is_a_pending_spec(front: str) -> None:
    assert spec(front, "no heading") == Spec(id="it", path="specs/it.md", title="it")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("status: ready", Status.PENDING),
        ("priority: critical", 200),
        ("priority: 7", 7),
        ("priority: '9999'", 9999),
        ("depends_on: one.md", ("one",)),
        ("depends_on: [a, a.md]", ("a",)),
        ("depends_on: a.md.md", ("a.md",)),
        ("depends_on: 001", ("001",)),
        ("not_before: 2026-11-16", 1794787200.0),
        ("not_before: 2026-11-16T01:00:00+01:00", 1794787200.0),
        ("not_before: 2026-11-16 00:00", 1794787200.0),
        ("not_before: 1794787200", 1794787200.0),
        ("approval: required", "pending"),
        ("approval: none", None),
        ("approval:\n  required: true\n  status: approved", "approved"),
        ("approval:\n  required: true\n  status: rejected", "rejected"),
        ("approval:\n  required: true", "pending"),
        ("approval:\n  required: false\n  status: pending", None),
    ],
)
def test_forms(field: str, value: Any) -> None:
    assert getattr(spec(field), field.split(":")[0]) == value


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ("status: done", "status: 'done' is not a status; use one of pending, blocked"),
        ("status: [pending]", "status: ['pending'] is not a status"),
        ("status: true", "status: True is not a status"),
        ("priority: urgent", "priority: priority 'urgent' is neither a number nor one of"),
        ("priority: 10000", "priority: priority 10000 is out of range"),
        ("priority: -1", "priority: priority -1 is out of range"),
        ("priority: 1.5", "priority: 1.5 is a number; use a whole number"),
        ("priority: true", "priority: True is true or false"),
        ("depends_on: 12", "depends_on: 12 is a number; use one text or a list"),
        ("depends_on: [a, 12]", "depends_on: 12 is a number, not text; put it in quotes"),
        ("depends_on:\n  a: b", "depends_on: {'a': 'b'} is a mapping"),
        ("depends_on: ''", "depends_on: '' is empty; use the name of a file in this folder"),
        ("depends_on: [a, ../b]", "depends_on: '../b' begins with '.'"),
        ("members: x/y", "members: 'x/y' holds a slash"),
        ("labels: [[a]]", "labels: ['a'] is a list, not text"),
        ("project: 5", "project: 5 is a number, not text"),
        ("started_by: [a]", "started_by: ['a'] is a list, not text"),
        ("attempts: -1", "attempts: -1 is not a whole number from 0"),
        ("attempts: 1.0", "attempts: 1.0 is not a whole number from 0"),
        ("attempts: true", "attempts: True is not a whole number from 0"),
        ("max_attempts: 0", "max_attempts: 0 is not a whole number from 1"),
        ("not_before: tomorrow", "not_before: 'tomorrow' is not a time"),
        ("not_before: -5", "not_before: -5 is not a time"),
        ("not_before: [2026]", "not_before: [2026] is a list, not text"),
        ("approval: true", "approval: True is not clear"),
        ("approval: maybe", "approval: 'maybe' is not clear"),
        ("approval:\n  required: often", "approval: required: 'often' is neither true nor false"),
        ("error: " + "9" * 15, "error: 999999999999999 is a number"),
    ],
)
def test_wrong_values_name_field_and_line(field: str, reason: str) -> None:
    with pytest.raises(BadSpec) as caught:
        spec(f"# a comment: x\nother: 1\n{field}")
    assert caught.value.reason.startswith(reason)
    assert caught.value.line == 4


def test_a_huge_wrong_value_is_cut() -> None:
    with pytest.raises(BadSpec) as caught:
        spec("status: " + "x" * 100_000)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("data", [b"", b"# Just notes\n", b"\xef\xbb\xbf# Notes\n", b"status: pending\n"])
def test_without_frontmatter_it_is_no_spec(data: bytes) -> None:
    with pytest.raises(BadSpec, match="line 1: has no frontmatter"):
        values_of(data)


@pytest.mark.parametrize("data", [b"---\n---\n", b"\xef\xbb\xbf---\r\n---\r\n", b"---\n...\n"])
def test_empty_frontmatter_is_enough(data: bytes) -> None:
    assert values_of(data) == {}


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (b"\n\n# One\n# Two\n", "One"),
        (b"text\n## Not this\n#nor this\n # nor\n# This\r\n", "This"),
        (b"# Closed ##\n", "Closed"),
        (b"# About C#\n", "About C#"),
        (b"#   wide   \n", "wide"),
        (b"# ##\n", ""),
        (b"# \n# x\n", ""),
        (b"```sh\n# comment\n```\n# After\n", "After"),
        (b"~~~\n# comment\n```\n# still\n~~~~\n# After\n", "After"),
        (b"```\n# never closed\n", ""),
        (b"# caf\xc3\xa9 \xff\n", "café \ufffd"),
        (b"# " + b"x" * 1000, "x" * 500),
        (b"# " + b" " * 1_000_000 + b"\n", ""),
        (b"```a\n" * 100_000 + b"# x\n", ""),
        (b"none", ""),
        (b"text\n```\n# code\n```\nmore\n## no\n", ""),
        (b"\n# Not ended", "Not ended"),
    ],
)
def test_titles(text: bytes, title: str) -> None:
    assert title_of(text) == title
