"""Frontmatter that was made to hurt, or by accident: an error with its line, soon, and no change."""

import subprocess
import sys

import pytest

from dibs.specs.fences import LIMIT
from dibs.specs.frontmatter import BadSpec, body, edit, read

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)

BAD: dict[str, tuple[bytes, int, str]] = {
    "bomb": (BOMB.encode(), 2, "anchor"),
    "alias": (b"x: 1\na: *b\n", 3, "alias"),
    "tag": (b"x: 1\na: !!python/object/apply:os.system ['true']\n", 3, "tag"),
    "own tag": (b"a: !thing b\n", 2, "tag"),
    "tag on a map": (b"a: !!set {b}\n", 2, "tag"),
    "tag on a key": (b"!!int 1: 2\n", 2, "tag"),
    "tag that lies": (b"x: 1\na: !!int b\n", 3, "!!int"),
    "binary": (b"a: !!binary aGk=\n", 2, "tag"),
    "twice": (b"status: a\nx: 1\nstatus: b\n", 4, "twice; the first is in line 2"),
    "twice, quoted": (b"status: a\nx: 1\n'status': b\n", 4, "twice"),
    "twice inside": (b"a:\n  b: 1\n  b: 2\n", 4, "twice"),
    "tab": (b"x: 1\na:\n\t- b\n", 4, "tab"),
    "tab before a field": (b"x: 1\n\ty: 2\n", 3, "tab"),
    "tab after blanks": (b"x:\n  y: 1\n \tz: 2\n", 4, "tab"),
    "latin-1": (b"x: 1\na: caf\xe9\n", 3, "UTF-8"),
    "surrogate": (b"a: \xed\xa0\x80\n", 2, "UTF-8"),
    "nul": (b"x: 1\n# \x00\n", 3, "U+0000"),
    "escape": (b"a: \x1b[31m\n", 2, "U+001B"),
    "carriage return": (b"x: 1\na: b\rc: d\n", 3, "U+000D"),
    "line separator": ("x: 1\na: b\u2028c: d\n".encode(), 3, "U+2028"),
    "deep": (b"x: 1\na: " + b"[" * 100_000 + b"\n", 3, "deep"),
    "deep and closed": (b"a: " + b"[" * 40 + b"]" * 40 + b"\n", 2, "deep"),
    "deep maps": (b"".join(b" " * n + b"a:\n" for n in range(100)), 35, "deep"),
    "list": (b"- a\n- b\n", 2, "not made of fields"),
    "text": (b"just words\n", 2, "not made of fields"),
    "two documents": (b"a: b\n--- # again\nc: d\n", 3, "more than one"),
    "list as key": (b"[a, b]: c\n", 2, "key must be text"),
    "open quote": (b'x: 1\na: "b\nc: d\n', 3, "not YAML"),
    "long tag": (b"a: !" + b"t" * 100_000 + b" b\n", 2, "tag"),
    "open list": (b"x: 1\na: [b, c\nd: e\n", 0, "not YAML"),
    "colon in text": (b"x: 1\ntitle: Fix: it\n", 3, "not YAML"),
    "no colon": (b"x: 1\nstatus\ny: 2\n", 0, "not YAML"),
    "conflict": (b"x: 1\n<<<<<<< ours\nstatus: a\n=======\nstatus: b\n>>>>>>> theirs\n", 3, "merge conflict"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["lf", "crlf"])
def test_refused_with_its_line(name: str, end: bytes) -> None:
    text, line, reason = BAD[name]
    data = (b"---\n" + text + b"---\nbody\n").replace(b"\n", end)
    with pytest.raises(BadSpec) as caught:
        read(data)
    assert reason in caught.value.reason
    assert "\n" not in str(caught.value)
    assert caught.value.line
    if line:
        assert caught.value.line == line
    with pytest.raises(BadSpec):
        edit(data, {"status": "x"})
    assert body(data) == b"body" + end


def test_not_closed() -> None:
    for data in (b"---\na: b\n", b"---", b"---\n", b"---\na: b\n ---\n----\n", b"--- \r\na: b"):
        for step in (read, body, lambda data: edit(data, {"a": "b"})):
            with pytest.raises(BadSpec, match="line 1: the frontmatter is not closed"):
                step(data)


@pytest.mark.parametrize("line", [b"key: value\n", b"# x\n", b"- x\n", b"\n", b"a: [[[{\n"])
def test_ten_megabytes_are_refused_unread(line: bytes) -> None:
    lines = line * (10 * LIMIT // len(line))
    with pytest.raises(BadSpec, match="line 1: the frontmatter is not closed within 1,048,576 bytes"):
        read(b"---\n" + lines + b"\n---\nbody\n")


def test_a_large_body_is_no_large_frontmatter() -> None:
    text = b"x\n" * (5 * LIMIT)
    assert read(b"---\na: b\n---\n" + text) == {"a": "b"}
    assert read(text) == {}


@pytest.mark.parametrize(
    "text",
    [
        b"a: " + b"x " * 200_000 + b": y\n",
        b"a: " + b"x:" * 200_000 + b"\n",
        b"a: x" + b"#" * 200_000 + b" \t\n",
        b"a: [" + b"x, " * 100_000 + b"{\n",
        b"a:\n" + b"- x\n" * 100_000 + b" y\n",
        b"a:\n" + b"# c\n" * 100_000 + b" - x\n- y\n",
        b'a: "' + b"\\n" * 200_000 + b"\n",
        b"\n" * 500_000 + b"\t\n",
        b"a" * 500_000 + b"\n",
        b" " * 500_000 + b"a: b\n",
    ],
    ids=range(10),
)
def test_what_makes_regular_expressions_slow_does_not(text: bytes) -> None:
    """In a process of its own with a limit on its CPU: a search that takes for ever is killed."""
    script = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (20, 20))\n"
        "from dibs.specs import quick\n"
        "assert quick.fields(sys.stdin.read()) is None\n"
    )
    subprocess.run([sys.executable, "-c", script], input=text, check=True)
