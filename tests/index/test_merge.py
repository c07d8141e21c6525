"""Merging is commutative, associative and idempotent, by records and by fields; a shard is what a dictionary is."""

from functools import reduce
from itertools import permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from dibs.index.block import Block, pack, sorted_lines, unpack
from dibs.index.fieldwise import rule_for
from dibs.index.merge import later, latest, merged
from dibs.index.usv import is_deletion, key_of, line_of, widened

FIELDS = ("key", "updated_at", "_times", "a", "b")
FIELDWISE = rule_for(FIELDS)
ODD = [f"1970-01-01T{rest}" for rest in ("00:00:01.1 Z", "00:00:01.10Z", "00:00:01.1+00:00", "01:00:01.100+01:00",
       "00:00:01,1z", "00:00:01.1", "00:00:01.09 Z", "00:00:01.11Z")]  # fmt: skip
TIMES = st.sampled_from(["1", "1.0", "1970-01-01T00:00:01Z", "2", "3", "1970-01-01T01:00:02+01:00", "10", "1.1", *ODD])
VALUES = st.sampled_from([None, "", "x", "y", "\\N"])


@st.composite
def line(draw: st.DrawFn, keys: st.SearchStrategy[str] = st.just("k")) -> bytes:  # noqa: B008
    key, time = draw(keys), draw(TIMES)
    if draw(st.integers(0, 4)) == 0:
        return line_of([key, time, None, None, None]).replace(b"\x1f", b"\x1f\\D", 1)
    return line_of([key, time, None, draw(VALUES), draw(VALUES)])


@settings(deadline=None)
@given(st.lists(line(), min_size=1, max_size=4))
def test_the_order_of_arrival_does_not_matter(lines: list[bytes]) -> None:
    for rule in (later, FIELDWISE):
        outcomes = {reduce(rule, order) for order in permutations(lines)}
        assert len(outcomes) == 1
        (one,) = outcomes
        assert rule(one, one) == one
        assert all(rule(one, other) == one for other in lines)


@settings(deadline=None, max_examples=500)
@given(st.lists(st.tuples(st.sampled_from(["1.1", *ODD[:6]]), st.integers(0, 99)), min_size=3, max_size=4))
def test_one_instant_in_many_forms_is_one_instant(said: list[tuple[str, int]]) -> None:
    lines = [line_of(["k", time, None, f"v{number}", None]) for time, number in said]
    for rule in (later, FIELDWISE):
        assert len({reduce(rule, order) for order in permutations(lines)}) == 1


@settings(deadline=None)
@given(line(), line(), line(), line())
def test_what_was_merged_can_be_merged(a: bytes, b: bytes, c: bytes, d: bytes) -> None:
    for rule in (later, FIELDWISE):
        assert rule(rule(a, b), rule(c, d)) == rule(a, rule(b, rule(c, d))) == rule(rule(c, a), rule(d, b))


@settings(deadline=None)
@given(line(), st.integers(5, 9), line(), st.integers(5, 9))
def test_so_may_lines_of_other_widths(a: bytes, wide: int, b: bytes, wider: int) -> None:
    one, other = widened(a, wide), widened(b, wider)
    assert later(one, other) == later(other, one) and FIELDWISE(one, other) == FIELDWISE(other, one)


def test_one_instant_in_three_forms() -> None:
    forms = (b"2026-11-16T10:00:00.1 Z", b"2026-11-16T10:00:00.10Z", b"2026-11-16T10:00:00.1+00:00")
    for number in range(50):
        lines = [b"k\x1f%b\x1fv%d%d" % (form, number, place) for place, form in enumerate(forms)]
        assert len({reduce(later, order) for order in permutations(lines)}) == 1


@settings(deadline=None)
@given(line(), line())
def test_a_field_that_was_added_decides_nothing(a: bytes, b: bytes) -> None:
    assert widened(later(a, b), 9) == later(widened(a, 9), widened(b, 9))


def test_older_never_overwrites_newer() -> None:
    old, new = line_of(["k", "9", None, "old", None]), line_of(["k", "10", None, "new", None])
    assert later(new, old) == later(old, new) == new


def test_a_deletion_wins_a_tie() -> None:
    kept, gone = line_of(["k", "5", None, "x", None]), b"k\x1f\\D5.0\x1f\\N\x1f\\N\x1f\\N"
    assert later(kept, gone) == later(gone, kept) == gone
    assert FIELDWISE(kept, gone) == FIELDWISE(gone, kept) == gone


def test_of_each_field_the_latest_stays() -> None:
    lines = [
        line_of(["k", "1", None, "a1", "b1"]),
        line_of(["k", "3", None, "a3", None]),
        line_of(["k", "2", None, None, "b2"]),
    ]
    assert {reduce(FIELDWISE, order) for order in permutations(lines)} == {b'k\x1f3\x1f{"b":"2"}\x1fa3\x1fb2'}
    gone = b"k\x1f\\D2.5\x1f\\N\x1f\\N\x1f\\N"
    assert {reduce(FIELDWISE, order) for order in permutations([*lines, gone])} == {
        b'k\x1f3\x1f{"":"2.5"}\x1fa3\x1f\\N'
    }


KEYS = st.sampled_from([f"k{number}" for number in range(12)] + ["k", "k1\n", "é"])


@settings(deadline=None)
@given(st.lists(line(KEYS), max_size=20), st.lists(line(KEYS), max_size=20), st.sampled_from([later, FIELDWISE]))
def test_a_merged_shard_is_what_a_dictionary_would_be(before: list[bytes], after: list[bytes], rule: object) -> None:
    stored = latest(before, rule, {})  # type: ignore[arg-type]
    updates = latest(after, rule, {})  # type: ignore[arg-type]
    wanted = latest(after, rule, dict(stored))  # type: ignore[arg-type]
    shard = unpack(pack(FIELDS, sorted_lines(stored), "n"), "test")
    new = merged(shard, updates, FIELDS, rule, "m")  # type: ignore[arg-type]
    block = shard if new is None else unpack(new.data, "test")
    assert block is not None and block.all() == sorted_lines(wanted)
    assert (block.lines, block.deletions) == (len(wanted), sum(map(is_deletion, wanted.values())))
    if new is not None:
        assert (new.lines, new.deletions) == (block.lines, block.deletions)
    assert (new is None) == (stored == wanted)


def test_a_shard_of_an_older_schema_is_widened() -> None:
    old = unpack(pack(("key", "t", "a"), [line_of(["k1", "1", "x"]), line_of(["k2", "1", None])], "n"), "test")
    new = merged(old, {b"k2": line_of(["k2", "2", "y", "z"])}, ("key", "t", "a", "b"), later, "m")
    assert new is not None
    block = unpack(new.data, "test")
    assert block is not None and block.fields == ("key", "t", "a", "b")
    assert block.all() == [line_of(["k1", "1", "x", None]), line_of(["k2", "2", "y", "z"])]


def test_a_shard_that_does_not_exist_yet() -> None:
    assert merged(None, {}, FIELDS, later, "n") is None
    new = merged(None, {b"b": b"b\x1f1", b"a": b"a\x1f1"}, ("key", "t"), later, "n")
    assert new is not None
    block = unpack(new.data, "test")
    assert isinstance(block, Block) and [key_of(found) for found in block.all()] == [b"a", b"b"]
