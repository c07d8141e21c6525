"""Times are compared as time: zones, forms and digits are only ways to write it."""

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dibs.errors import BadInput
from dibs.index.index import Index
from dibs.index.times import Stamps, compare, instant, text_of

SAME = ["2026-11-16T10:00:00Z", "2026-11-16T11:00:00+01:00", "2026-11-16 10:00:00.000", "2026-11-16T04:30-05:30",
        "1794823200", "1794823200.000", "20" "26-11-16T11:00+01", "2026-11-16T10:00:00,0z"]  # fmt: skip


@pytest.mark.parametrize("text", SAME)
def test_one_time_in_many_forms(text: str) -> None:
    assert instant(text) == (1794823200, "")
    assert all(compare(text.encode(), other.encode()) == 0 for other in SAME)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("2026-11-16T10:00:00Z", "2026-11-16T10:00:00.000000001Z"),
        ("9", "10"),
        ("2026-11-16T10:00:00.4Z", "2026-11-16T10:00:00,5Z"),
        ("2026-11-16T10:00:00,4Z", "2026-11-16T10:00:00.5Z"),
        ("2026-11-16T12:00:00+03:00", "2026-11-16T10:00:00Z"),
        ("2026-11-16T23:59:59.9-01:00", "2026-11-17T01:00:00Z"),
        ("1.09", "1.1"),
        ("0001-01-01", "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_earlier_and_later(earlier: str, later: str) -> None:
    assert compare(earlier.encode(), later.encode()) < 0 < compare(later.encode(), earlier.encode())


ZONES = {"Z": "00", " Z": "00", "z": "00", "+00:00": "00", " +00": "00", "": "00", "+0100": "01", "-23:00": "01"}
DIGITS = ["", *(point + digits for point in ".," for digits in ("1", "10", "09", "11"))]
FORMS = [f"2026-11-1{6 if zone != '-23:00' else 5}{mark}{hour}:00:0{second}{digits}{zone}".encode()
         for zone, hour in ZONES.items() for mark in "Tt " for second in "01" for digits in DIGITS]  # fmt: skip


def test_times_are_compared_by_instant_in_whatever_form() -> None:
    instants = [(form, instant(form.decode())) for form in [*FORMS, b"1794787200.10", b"1794787201"]]
    assert len({moment for _, moment in instants}) == 8
    for one, left in instants:
        for other, right in instants:
            assert compare(one, other) == (left > right) - (left < right), (one, other)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "-5",
        "2026-11-16T10:00.5Z",
        "2026-13-01",
        "2026-11-16T25:00Z",
        "2026-11-16T24:00:00Z",
        "1e9",
        "nan",
        "٣",
        "1.",
        "2026-11-16T10:00:00+99:00",
    ],
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="not acceptable"):
        instant(text)


@settings(deadline=None)
@given(st.integers(0, 4_000_000_000_000_000), st.integers(0, 4_000_000_000_000_000))
def test_written_times_sort_as_they_were(one: int, other: int) -> None:
    assert compare(text_of(one).encode(), text_of(other).encode()) == (one > other) - (one < other)


def test_stamps_only_go_forward() -> None:
    clock = iter([100.0, 50.0, 50.0, 200.0])
    stamps = Stamps(lambda: next(clock))
    given_out = [*stamps.many(3), stamps.one(), stamps.one(), stamps.one()]
    assert given_out == sorted(set(given_out))
    assert given_out[-1] == text_of(200_000_000)


def test_a_datetime_is_taken_with_its_zone() -> None:
    index = Index("memory:", fields=["v"], shards=16)
    moment = datetime(2026, 11, 16, 11, tzinfo=timezone(timedelta(hours=1)))
    index.put("k", {"v": "1"}, updated_at=moment)
    assert (index.get("k") or {})["updated_at"] == "2026-11-16T10:00:00Z"
    index.put_many([{"key": "k", "v": "2", "updated_at": moment.replace(microsecond=5)}])
    assert (index.get("k") or {})["updated_at"] == "2026-11-16T10:00:00.000005Z"
    index.delete("k", updated_at=moment + timedelta(hours=1))
    assert index.get("k") is None
    with pytest.raises(BadInput, match="has no zone"):
        index.put("k", {"v": "3"}, updated_at=datetime(2026, 11, 16))
