"""The quick reading of many files says the same as the careful one, or nothing."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.specs.badspec import BadSpec
from dibs.specs.fields import READINGS, values_of
from dibs.specs.nodes import hot
from dibs.specs.repeats import REMEMBERED, Repeats

VALUES = ["pending", "ready", "high", "7", "007", "a", "[a, b]", "[]", "~", "", "true", "2026-11-16", "1.5", "'x: y'"]
VALUES += [
    '"a\\tb"',
    "a # note",
    "a: b",
    "|",
    "&a x",
    "*a",
    "!!int 5",
    "-",
    "a:",
    "a:b",
    "http://x/y",
    "x.md",
    "{a: b}",
]
VALUES += [
    "\n  - a\n  - b.md",
    "\n- a\n- 12",
    "\n  - a # x",
    "\n  a: b",
    "\n  - - a",
    "\n\n  - a",
    "\n# c\n  - a",
    "x\n  y",
]
NAMES = [*READINGS, "branch", "more", "title", "id", "Status", "x-y", '"quoted"', "'status'", " status", "?", "1"]
LINES = st.one_of(
    st.builds("{}: {}".format, st.sampled_from(NAMES), st.sampled_from(VALUES)),
    st.sampled_from(
        ["# note", "", "  ", "---", "...", "...x", "- a", "text", "  # in", "\t", "a:\tb", "é: ü", "x: a\r"]
    ),
)
BODIES = st.sampled_from(["# Title\n", "", "# T\r\n", "```\n# no\n```\n# yes\n", "---\n# x\n", "...\n", "no"])


def same(reader: Repeats, data: bytes) -> bool | None:
    """None when the quick reading leaves it to the careful one."""
    quick = reader.read(data)
    if quick is None:
        return None
    values = values_of(data)
    return quick[0] == hot(values) and json.loads(quick[1]) == json.loads(json.dumps(values))


@given(st.lists(st.tuples(st.lists(LINES, max_size=6), BODIES), max_size=5))
def test_it_says_the_same_or_nothing(files: list[tuple[list[str], str]]) -> None:
    reader = Repeats()
    for lines, body in files:
        data = "\n".join(["---", *lines, "---", body]).encode()
        assert same(reader, data) in (None, True), data


@given(st.text("abz019_-:#'\"[]{},.&*!|>%@` \n\t~?", max_size=60))
def test_nor_does_any_text_mislead_it(text: str) -> None:
    assert same(Repeats(), f"---\n{text}\n---\n# T\n".encode()) in (None, True)


@pytest.mark.parametrize(
    "front",
    [
        "status: pending",
        "status: pending\npriority: high\nlabels: [a, b]\ndepends_on:\n  - a\n  - b\nbranch: x\nstarted_by: a b",
        "# note\nstatus: pending # why\n\ntype: code\nproject:",
    ],
)
def test_ordinary_files_are_read_quickly(front: str) -> None:
    reader = Repeats()
    for _ in range(2):
        assert same(reader, f"---\n{front}\n---\n# T\n".encode()) is True
    assert same(reader, b"---\n---\n") is True


def test_what_is_wrong_is_left_to_the_careful_reading() -> None:
    reader = Repeats()
    for front in ("status: nonsense", "status: pending\nstatus: pending", "depends_on: ../x", "a: [", "a: &x y"):
        data = f"---\n{front}\n---\n".encode()
        assert reader.read(data) is None
        with pytest.raises(BadSpec):
            values_of(data)


def test_what_it_remembers_is_bounded() -> None:
    reader = Repeats()
    for number in range(REMEMBERED + 100):
        assert same(reader, f"---\nx{number}: {number}\n---\n".encode()) is True
    assert len(reader._known) == REMEMBERED
