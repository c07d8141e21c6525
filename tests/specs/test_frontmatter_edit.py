"""Changing a field changes its lines and no other byte."""

from typing import Any

import pytest

from dibs.errors import BadInput
from dibs.specs.frontmatter import BadSpec, body, edit, read

SPEC = b"""---
# who and what
status:   pending   # set by dibs
title: 'Fix: the login'
labels:  # of ours
  # first
  - web
  - "two words"  # odd

depends_on: [a, 'b']   # soon
custom: {x: 1, y: [2]}
error: |
  one

  two

# the end
---
# Body

status: pending
---
"""

CHANGES: list[tuple[dict[str, Any], bytes, bytes]] = [
    ({"status": "in_progress"}, b"status:   pending   #", b"status:   in_progress   #"),
    ({"title": "Plain"}, b"title: 'Fix: the login'", b"title: Plain"),
    ({"title": "Fix: it"}, b"title: 'Fix: the login'", b'title: "Fix: it"'),
    ({"labels": ["web"]}, b'  # first\n  - web\n  - "two words"  # odd\n', b"  - web\n"),
    (
        {"labels": ["two words", "new: one"]},
        b'  # first\n  - web\n  - "two words"  # odd\n',
        b'  - "two words"  # odd\n  - "new: one"\n',
    ),
    ({"labels": []}, b'labels:  # of ours\n  # first\n  - web\n  - "two words"  # odd\n', b"labels: []  # of ours\n"),
    (
        {"labels": "web"},
        b'labels:  # of ours\n  # first\n  - web\n  - "two words"  # odd\n',
        b"labels: web  # of ours\n",
    ),
    ({"depends_on": ["a", "c d", "e, f"]}, b"[a, 'b']   # soon", b'[a, c d, "e, f"]   # soon'),
    ({"depends_on": "a"}, b"[a, 'b']   # soon", b"a   # soon"),
    ({"custom": 5}, b"{x: 1, y: [2]}", b"5"),
    ({"error": "short"}, b"error: |\n  one\n\n  two\n", b"error: short\n"),
    ({"error": None}, b"error: |\n  one\n\n  two\n", b""),
    ({"title": None}, b"title: 'Fix: the login'\n", b""),
    ({"status": None}, b"status:   pending   # set by dibs\n", b""),
    ({"attempts": 3}, b"# the end\n---", b"# the end\nattempts: 3\n---"),
    ({"nothing": None}, b"", b""),
    ({"status": "pending", "title": "Fix: the login", "depends_on": ["a", "b"]}, b"", b""),
]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["", "bom"])
@pytest.mark.parametrize(("changes", "before", "after"), CHANGES, ids=[str(case[0]) for case in CHANGES])
def test_only_the_lines_of_the_field_change(
    changes: dict[str, Any], before: bytes, after: bytes, end: bytes, mark: bytes
) -> None:
    assert SPEC.count(before) == 1 or not before
    spec, wanted = (mark + text.replace(b"\n", end) for text in (SPEC, SPEC.replace(before, after, 1)))
    result = edit(spec, changes)
    assert result == wanted
    fields = read(spec) | changes
    assert read(result) == {key: value for key, value in fields.items() if value is not None}
    assert edit(result, changes) == result


VALUES: list[tuple[Any, str]] = [
    ("plain text", "plain text"),
    ("2026-11-16T05:00:00Z", "2026-11-16T05:00:00Z"),
    ("http://x/#y", "http://x/#y"),
    ("größe 日本", "größe 日本"),
    ("", '""'),
    (" x", '" x"'),
    ("x ", '"x "'),
    ("a: b", '"a: b"'),
    ("a:", '"a:"'),
    ("a #b", '"a #b"'),
    ("- a", '"- a"'),
    ("-", '"-"'),
    ("[a]", '"[a]"'),
    ("*a", '"*a"'),
    ("%a", '"%a"'),
    ("@a", '"@a"'),
    ("'a'", "\"'a'\""),
    ('"a"', '"\\"a\\""'),
    ("a\nb", '"a\\nb"'),
    ("a\tb\x00\x7f\u2028\x85", '"a\\tb\\u0000\\u007f\\u2028\\u0085"'),
    ("---", '"---"'),
    ("true", '"true"'),
    ("null", '"null"'),
    ("~", '"~"'),
    ("12", '"12"'),
    ("1.5", '"1.5"'),
    ("yes", '"yes"'),
    ("012", '"012"'),
    ("1e3", '"1e3"'),
    ("1:30", '"1:30"'),
    ("0x1f", '"0x1f"'),
    (12, "12"),
    (-3, "-3"),
    (1.5, "1.5"),
    (1e22, "1.0e+22"),
    (1e-7, "1.0e-07"),
    (True, "true"),
    (False, "false"),
    ([], "[]"),
    (["a", "b c", "d, e", "f]", "1", "x:y", "x: y", "#z"], '[a, b c, "d, e", "f]", "1", x:y, "x: y", "#z"]'),
]


@pytest.mark.parametrize(("value", "text"), VALUES, ids=[repr(value) for value, _ in VALUES])
def test_a_value_is_written_plain_or_double_quoted(value: Any, text: str) -> None:
    for before in (b"---\nx: old # c\nlast: 1\n---\nbody", b"---\nx: |\n  old\nlast: 1\n---\n", b"---\nlast: 1\n---\n"):
        result = edit(before, {"x": value})
        assert f"\nx: {text}".encode() in result
        assert repr(read(result)["x"]) == repr(value)
        assert read(result)["last"] == 1
        assert body(result) == body(before)


@pytest.mark.parametrize("value", [0.00016729367818707445, 1e22, 5e-324, -1.7976931348623157e308, -0.0, 1234.5])
def test_every_float_comes_back(value: float) -> None:
    assert repr(read(edit(b"---\n---\n", {"x": value}))["x"]) == repr(value)


@pytest.mark.parametrize("value", [10**18, float("inf"), float("nan"), {"a": 1}, b"x", [["a"]], [{}], "\ud800"])
def test_a_value_that_cannot_be_written_is_refused(value: Any) -> None:
    with pytest.raises(BadInput):
        edit(b"---\na: b\n---\n", {"x": value})


@pytest.mark.parametrize(
    ("data", "result"),
    [
        (b"", b"---\nstatus: a\n---\n"),
        (b"# T\n", b"---\nstatus: a\n---\n# T\n"),
        (b"# T", b"---\nstatus: a\n---\n# T"),
        (b"# T\r\nx\n", b"---\r\nstatus: a\r\n---\r\n# T\r\nx\n"),
        (b"\xef\xbb\xbf# T\n", b"\xef\xbb\xbf---\nstatus: a\n---\n# T\n"),
        (b"---\n---\n", b"---\nstatus: a\n---\n"),
        (b"---\n...", b"---\nstatus: a\n..."),
        (b"--- \n# c\n\n---", b"--- \n# c\n\nstatus: a\n---"),
        (b"---\nstatus:\n---\n", b"---\nstatus: a\n---\n"),
        (b"---\nstatus: # c\n---\n", b"---\nstatus: a # c\n---\n"),
        (b"---\n  a: 1\n  b: 2\n---\n", b"---\n  a: 1\n  b: 2\n  status: a\n---\n"),
        (b"---\nk: |+\n  x\n\n---\n", b"---\nk: |+\n  x\n\nstatus: a\n---\n"),
        (b"---\n'status' : b\n---\n", b"---\n'status' : a\n---\n"),
        (b"---\nstatus: one\n  two # c\nb: 1\n---\n", b"---\nstatus: a # c\nb: 1\n---\n"),
        (b"---\nstatus:\n  one\n  two\nb: 1\n---\n", b"---\nstatus: a\nb: 1\n---\n"),
        (b"---\nstatus:\n  b:\n    - c\n    - d: e\n\n\nb: 1\n---\n", b"---\nstatus: a\n\n\nb: 1\n---\n"),
        (b"---\nstatus: [x, # c\n  y] # d\nb: 1\n---\n", b"---\nstatus: a # d\nb: 1\n---\n"),
        (b"---\nstatus: x\r\nb: 1\n---\r\n", b"---\nstatus: a\r\nb: 1\n---\r\n"),
        (b"---\nstatus: !!str 5 # c\n---\n", b"---\nstatus: a # c\n---\n"),
        (b"---\nstatus: 'it''s' # c\n---\n", b"---\nstatus: a # c\n---\n"),
        ("---\nä: ö\nstatus: 'ü''é' # ñ\n---\n".encode(), "---\nä: ö\nstatus: a # ñ\n---\n".encode()),
        (b"---\nstatus: >-2\n    x\n\n\n# c\nb: 1\n---\n", b"---\nstatus: a\n\n\n# c\nb: 1\n---\n"),
    ],
)
def test_forms(data: bytes, result: bytes) -> None:
    assert edit(data, {"status": "a"}) == result


@pytest.mark.parametrize(
    "data",
    [
        b"---\n{status: b, c: 1}\n---\n",
        b"---\n{status: b,\n c: 1}\n---\n",
        b"---\n? status\n: b\n---\n",
        b"---\nstatus: &x b\n---\n",
        b"---\na: &x b\nstatus: *x\n---\n",
        b"---\nstatus: a\nstatus: a\n---\n",
        b"---\nstatus: a\n",
        b"---\nwords\n---\n",
    ],
)
def test_a_form_that_cannot_be_changed_safely_is_refused(data: bytes) -> None:
    with pytest.raises(BadSpec):
        edit(data, {"status": "x"})


def test_a_field_cannot_be_added_to_a_flow_mapping() -> None:
    with pytest.raises(BadSpec, match="by hand"):
        edit(b"---\n{a: b}\n---\n", {"status": "x"})


def test_several_changes_at_once() -> None:
    result = edit(b"---\na: 1\nb: 2\nc: 3\n---\n", {"c": None, "new": "x", "a": 5, "more": ["z"]})
    assert result == b"---\na: 5\nb: 2\nnew: x\nmore: [z]\n---\n"


def test_one_true_and_one_point_nought_are_three_values() -> None:
    data = b"---\na: 1\n---\n"
    assert edit(data, {"a": True}) == b"---\na: true\n---\n"
    assert edit(data, {"a": 1.0}) == b"---\na: 1.0\n---\n"
    assert edit(data, {"a": "1"}) == b'---\na: "1"\n---\n'
