"""For generated frontmatter: both readings agree, and a change touches nothing but its field."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dibs.specs import quick, yamlish
from dibs.specs.badspec import BadSpec
from dibs.specs.fields import READINGS
from dibs.specs.frontmatter import body, edit, read
from dibs.specs.lines import text_of

KNOWN = list(READINGS)

# Short texts of what YAML gives a meaning to: most of the odd ones are among them.
tricky = st.text(st.sampled_from("ab1 0.-+:#,[]{}'\"\\\t?!&*|>%@`~=<_eExnu/\u00e9\u00a0\u3000\U0001f389"), max_size=8)
WORDS = [
    "true",
    "True",
    "null",
    "~",
    "yes",
    "1",
    "-1",
    "+1",
    "0",
    "00",
    "01",
    "0x1",
    "1e3",
    "1.5",
    "1.50",
    "-0.0",
    "1.",
]
WORDS += [".5", ".inf", "2026-11-16", "a-b", "a:b", "a#b", "---", "...", "-", "--", "<<"]
words = st.sampled_from(WORDS)
blanks = st.sampled_from(["", " ", "  ", "    "])

STARTS = ["a: ", "b: ", "c:", "true: ", "d : ", "e:  ", "1: ", "- ", "  - ", "   - ", "-", "# ", "  ", "f: [", "g: ["]
PIECES = [
    "x",
    "y z",
    "1",
    "é",
    ":",
    ": ",
    " #",
    "#",
    ",",
    ", ",
    "[",
    "]",
    "{",
    "'",
    '"',
    "\\",
    "\\n",
    "\t",
    " ",
    "-",
    "- ",
    "?",
]
PIECES += ["!", "&", "*", "|", ">", "%", "@", "`", "\u00a0", "\u3000", "'x'", '"x"', '"\\n"', "''", *WORDS]
ENDS = ["", "", " ", "]", " # x", "]  #"]
odd_lines = st.lists(
    st.builds(
        lambda start, pieces, end: start + "".join(pieces) + end + "\n",
        st.sampled_from(STARTS),
        st.lists(st.sampled_from(PIECES), max_size=3),
        st.sampled_from(ENDS),
    ),
    max_size=4,
).map("".join)


@settings(max_examples=2000, deadline=None)
@given(odd_lines)
@example("a: b\n\n# c\n  - d\n")
@example("a:\n  - b\n- c\n")
def test_what_the_fast_reading_takes_the_parser_reads_alike(text: str) -> None:
    found = quick.places(text)
    fields = quick.fields(text)
    assert (found is None) == (fields is None)
    if found is not None:
        assert found == yamlish.places(text_of(text.encode()))
        assert repr({field.key: field.value for field in found}) == repr(fields)


@dataclass
class Block:
    """Lines of the frontmatter: a field's (with its key), or between fields."""

    key: str | None
    text: str


text_lines = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=12).filter(
    lambda text: not set(text) & set("\ufeff\ufffe\uffff")
)
plain = st.from_regex(r"[a-z][a-z0-9/_. é-]{0,8}[a-z0-9]", fullmatch=True).filter(
    lambda text: text not in ("true", "null")
)
single = st.builds(lambda text: "'" + text.replace("'", "''") + "'", text_lines)
double = st.builds(lambda text: '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"', text_lines)
scalars = st.one_of(plain, single, double, st.integers(-99, 99).map(str), st.sampled_from(["true", "null", "~", "1.5"]))
ends = st.sampled_from(["", " ", "  # note", " #"])


@st.composite
def field_lines(draw: st.DrawFn, key: str) -> str:
    written = draw(st.sampled_from([key, key, f'"{key}"', f"'{key}'", f"{key} "]))
    kind = draw(st.sampled_from(["scalar", "scalar", "empty", "flow", "wide flow", "block", "text", "folded", "map"]))
    indent = draw(st.sampled_from(["", "  ", "    "]))
    if kind == "scalar":
        return f"{written}:{draw(blanks.filter(bool))}{draw(scalars)}{draw(ends)}\n"
    if kind == "empty":
        return f"{written}:{draw(ends)}\n"
    items = draw(st.lists(scalars, max_size=3))
    if kind == "flow":
        return f"{written}: [{', '.join(items)}]{draw(ends)}\n"
    if kind == "wide flow":
        return f"{written}: [\n" + "".join(f"  {item},{draw(ends)}\n" for item in items) + f"  ]{draw(ends)}\n"
    if kind == "block" and items:
        between = draw(st.sampled_from(["", "\n", "  # within\n"]))
        return f"{written}:{draw(ends)}\n" + between.join(f"{indent}- {item}{draw(ends)}\n" for item in items)
    if kind == "text":
        lines = draw(
            st.lists(plain | st.sampled_from(["---", "# no comment", "status: x", ""]), min_size=1, max_size=3)
        )
        if any(lines):
            return f"{written}: |{draw(ends)}\n" + "".join(
                f"  {line}\n" if line else "\n" for line in ["x", *lines, "y"]
            )
    if kind == "folded":
        return f"{written}: {draw(plain)}\n  {draw(plain)}{draw(ends)}\n"
    return f"{written}:{draw(ends)}\n  x: {draw(scalars)}\n  y:\n  - 1\n"


@st.composite
def files(draw: st.DrawFn) -> tuple[list[Block], str, bytes, bytes]:
    """Blocks, line end, opening and rest of a file."""
    keys = draw(st.lists(st.sampled_from([*KNOWN, "custom", "x-y", "title"]), unique=True, max_size=6))
    blocks = []
    for key in keys:
        if draw(st.booleans()):
            blocks.append(Block(None, draw(st.sampled_from(["\n", "# comment\n", " # status: x\n", "\n\n# a\n"]))))
        blocks.append(Block(key, draw(field_lines(key))))
    if draw(st.booleans()):
        blocks.append(Block(None, "# last\n\n"))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    opening = draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + b"---" + draw(st.sampled_from([b"", b" "])) + end.encode()
    closing = draw(st.sampled_from([b"---", b"...", b"--- "]))
    rest = draw(st.sampled_from([b"", b"\n", b"\n# Title\n\n---\nstatus: x\n---\n", b"\r\n\xff\x00 no text"]))
    return blocks, end, opening, closing + rest


def joined(blocks: list[Block], end: str) -> bytes:
    return "".join(block.text for block in blocks).replace("\n", end).encode()


new_values: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.text(st.characters(codec="utf-8"), max_size=12),
    tricky,
    words,
    st.booleans(),
    st.integers(-(10**17), 10**17),
    st.floats(allow_nan=False, allow_infinity=False),
    st.lists(st.text(st.characters(codec="utf-8"), max_size=6) | tricky | words, max_size=4),
)


@settings(max_examples=600, deadline=None)
@given(files(), st.sampled_from(KNOWN), new_values)
def test_set_then_read_leaves_all_other_bytes(
    file: tuple[list[Block], str, bytes, bytes], key: str, value: Any
) -> None:
    blocks, end, opening, closing = file
    data = opening + joined(blocks, end) + closing
    fields = read(data)
    assert list(fields) == [block.key for block in blocks if block.key]
    result = edit(data, {key: value})
    wanted = {name: old for name, old in fields.items() if name != key} | ({} if value is None else {key: value})
    assert repr(sorted(read(result).items())) == repr(sorted(wanted.items()))
    at = next((number for number, block in enumerate(blocks) if block.key == key), len(blocks))
    before = opening + joined(blocks[:at], end)
    after = joined(blocks[at + 1 :], end) + closing
    assert result.startswith(before)
    assert result.endswith(after)
    assert body(result) == body(data)
    own = result[len(before) : len(result) - len(after)]
    assert own.count(b"\n") == own.count(end.encode())
    if value is None:
        assert own.strip() == b""
    assert edit(result, {key: value}) == result


@settings(max_examples=300, deadline=None)
@given(files(), st.dictionaries(st.sampled_from(KNOWN), new_values, max_size=4))
def test_several_changes_come_out_as_one_by_one(
    file: tuple[list[Block], str, bytes, bytes], changes: dict[str, Any]
) -> None:
    blocks, end, opening, closing = file
    data = opening + joined(blocks, end) + closing
    single_steps = data
    for key, value in changes.items():
        single_steps = edit(single_steps, {key: value})
    assert edit(data, changes) == single_steps


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60).map(lambda data: b"---\n" + data + b"\n---\n"))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        fields = read(data)
    except BadSpec as error:
        assert error.line
        with pytest.raises(BadSpec):
            edit(data, {"status": "x"})
    else:
        assert all(isinstance(key, str) for key in fields)
