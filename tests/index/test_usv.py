"""Any text comes back as it was, through the plain codec and through Polars alike; older dialects are read."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dibs.errors import BadInput, FormatError
from dibs.index import block
from dibs.index.block import pack, sorted_lines, stream_head, unpack
from dibs.index.frames import body_of, frame_of, polars
from dibs.index.locate import locate
from dibs.index.salvage import rows_of, salvage
from dibs.index.usv import END, BadRecord, is_deletion, key_of, line_of, narrowed, values_of, widened

NASTY = st.sampled_from(
    ["\\", "\n", "\r", "\x1f", "\x1e", "\x1b", "\0", "N", "D", '"', ",", "\t", "\\N", "\\D", "é", "𝄞", "\ufeff"]
)
TEXT = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8), st.lists(NASTY, max_size=6).map("".join)
)
VALUE = st.one_of(st.none(), TEXT)
KEY = TEXT.filter(bool)
RECORD = st.tuples(KEY, st.just("2026-11-16T10:00:00Z"), VALUE, VALUE)


@settings(deadline=None)
@given(st.lists(VALUE, min_size=2, max_size=6))
def test_a_line_comes_back_as_it_was(values: list[str | None]) -> None:
    line = line_of(values)
    assert b"\n" not in line and b"\x1e" not in line and line.count(b"\x1f") == len(values) - 1
    if not (values[1] or "").startswith("\\D"):
        assert values_of(line) == values


def test_empty_and_missing_are_different() -> None:
    assert line_of(["k", "1", "", None, "\\N"]) == b"k\x1f1\x1f\x1f\\N\x1f\\\\N"
    assert values_of(b"k\x1f1\x1f\x1f\\N\x1f\\\\N") == ["k", "1", "", None, "\\N"]


@settings(deadline=None)
@given(st.lists(RECORD, max_size=8))
def test_polars_reads_and_writes_what_the_plain_codec_does(records: list[tuple[str | None, ...]]) -> None:
    fields = ["key", "updated_at", "a", "b"]
    body = b"".join(line_of(record) + END for record in records)
    frame = frame_of([body], fields)
    assert frame.rows() == records
    assert body_of(polars().DataFrame(records, schema=dict.fromkeys(fields, polars().String), orient="row")) == body


def test_deletions_are_no_rows_of_a_frame() -> None:
    body = b"a\x1f1\x1fx\x1e\nb\x1f\\D2\x1f\\N\x1e\nc\x1f3\x1f\x1e\n"
    assert frame_of([body], ["key", "t", "v"]).rows() == [("a", "1", "x"), ("c", "3", "")]


@settings(deadline=None)
@given(st.lists(KEY, unique=True, max_size=40), KEY, st.integers(1, 400))
def test_a_key_is_found_where_it_stands(keys: list[str], other: str, near: int) -> None:
    lines = sorted_lines({line_of([key]): line_of([key, "1", key * 9]) for key in keys})
    block = unpack(pack(("key", "t", "v"), lines, "n"), "test")
    assert block is not None and block.all() == lines
    at = block.start
    for line in lines:
        start, end = locate(block.data, key_of(line), block.start, near)
        assert block.data[start : end - 2] == line
        assert locate(block.data, key_of(line), at, near) == (start, end)
        at = end
    start, end = locate(block.data, line_of([other]), block.start, near)
    if other not in keys:
        assert start == end
        assert all(key_of(line) < line_of([other]) for line in block.data[block.start : start].split(END)[:-1])


def test_text_that_is_no_unicode_is_refused() -> None:
    with pytest.raises(BadInput, match="Unicode"):
        line_of(["k", "\ud800"])


@pytest.mark.parametrize("line", [b"k\x1f1\x1f\\q", b"k\x1f1\x1f\\", b"k\x1f\xff"])
def test_what_is_no_line_is_said_to_be_none(line: bytes) -> None:
    with pytest.raises(BadRecord):
        values_of(line)


def test_a_line_knows_its_key_and_whether_it_is_a_deletion() -> None:
    line = b"k\x1f\\D5\x1f\\N"
    assert (key_of(line), is_deletion(line)) == (b"k", True)
    assert values_of(line) == ["k", "5", None]
    assert widened(line, 5) == line + b"\x1f\\N\x1f\\N" and narrowed(widened(line, 5)) == b"k\x1f\\D5"


def test_a_changed_byte_is_noticed_and_the_good_records_are_kept() -> None:
    lines = [line_of([f"k{number}", "1", "x"]) for number in range(5)]
    data = pack(("key", "t", "v"), lines, "n")
    for place in range(len(data)):
        assert unpack(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :], "test") is None
    broken = data.replace(b"k2\x1f1\x1fx", b"k2\x1f1?1x")
    found = salvage(broken, ("key", "t", "v"), lambda key: True)
    assert found.lines == [line for line in lines if not line.startswith(b"k2")] and found.bad == 1
    cut = salvage(data[:-4], ("key", "t", "v"), lambda key: True)
    assert cut.lines == lines[:-1] and cut.bad == 1 and not cut.foreign


def test_a_byte_order_mark_is_part_of_the_first_key() -> None:
    for value in ("x", None, "a\n"):
        body = line_of(["\ufeffk", "1", value]) + END + line_of(["l", "1", ""]) + END
        assert frame_of([body], ["key", "t", "v"]).rows() == [("\ufeffk", "1", value), ("l", "1", "")]


def test_a_stream_is_in_this_dialect() -> None:
    body = b"".join(line_of(values) + END for values in (["x\n", "a", "1"], [None, "b", "2"]))
    data = stream_head(["v", "key", "t"]) + END + body
    found = salvage(data, ("key", "t", "v", "w"), lambda key: True)
    assert found.lines == [line_of(["a", "1", "x\n", None]), line_of(["b", "2", None, None])] and found.foreign
    assert not salvage(data[:-3], ("key", "t", "v", "w"), lambda key: True).foreign


def test_a_later_format_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as later:
        later.setattr(block, "FORMAT", 2)
        data = pack(("key", "t"), [], "n")
    with pytest.raises(FormatError, match="upgrade"):
        unpack(data, "test")


@pytest.mark.parametrize(
    "data",
    [
        b"a\x1f1\x1fx\x1e\nb\x1f2\x1fy\x1e\n",
        b"a\x1f1\x1fx\x1eb\x1f2\x1fy\x1e",
        b"a\x1f1\x1fx\x1eb\x1f2\x1fy",
        b"a\x1f1\x1fx\nb\x1f2\x1fy\n",
        b"a\x1f1\x1fx\r\nb\x1f2\x1fy\r\n",
        b"key\x1ft\x1fv\x1e\na\x1f1\x1fx\x1e\nb\x1f2\x1fy\x1e\n",
        b"v\x1fkey\x1ft\nx\x1fa\x1f1\ny\x1fb\x1f2\n",
    ],
)
def test_older_dialects_are_read(data: bytes) -> None:
    found = salvage(data, ("key", "t", "v"), lambda key: True)
    assert found.lines == [line_of(["a", "1", "x"]), line_of(["b", "2", "y"])]
    assert found.foreign and not found.bad


def test_older_dialects_know_no_escape() -> None:
    assert rows_of(b"a\x1f1\x1f\\N\x1e\n") == [["a", "1", "\\N"]]
    assert salvage(b"a\x1f1\x1f\\N\x1e\n", ("key", "t", "v"), lambda key: True).lines == [b"a\x1f1\x1f\\\\N"]
