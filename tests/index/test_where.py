"""Which records a scan chooses, and what it does when fields are added meanwhile."""

import pytest

from dibs.errors import BadInput
from dibs.index.index import Index
from dibs.index.where import Condition


@pytest.mark.parametrize(
    ("sign", "value", "stored", "holds"),
    [
        ("=", "77", "nan", False),
        ("!=", "77", "nan", True),
        ("=", "nan", "nan", True),
        ("=", "9007199254740993", "9007199254740992", False),
        (">", "9007199254740992", "9007199254740993", True),
        ("=", "1_000", "1000", False),
        ("=", "0123", "123", True),
        ("=", "1e3", "1000.0", True),
        ("<", "1e99999999999999999999", "5", False),  # too great a number is text
        ("<", ".5", "-3", True),
        (">=", "inf", "5", False),
    ],
)
def test_numbers_are_compared_exactly_and_the_rest_as_text(sign: str, value: str, stored: str, holds: bool) -> None:
    assert Condition(2, sign, value).holds(stored) is holds


@pytest.mark.parametrize(
    ("mistaken", "meant"),
    [
        ("status==200", "write status=200, or status= =200"),
        ("status<>200", "write status!=200"),
        ("status=>200", "write status>=200"),
        ("status=<200", "write status<=200"),
        ("status !== 200", "write status!=200"),
        ("title=~a", "write title~a"),
        ("updated_at>yesterday", "write 2030-01-31T08:00:00Z"),
        ("updated_at=", "write 2030-01-31T08:00:00Z"),
    ],
)
def test_a_condition_that_is_a_typing_mistake_is_refused(here: Index, mistaken: str, meant: str) -> None:
    with pytest.raises(BadInput, match=meant):
        list(here.scan(where=[mistaken]))


@pytest.mark.parametrize("condition", ["status=200", "status = 200", "status >= 200", "title= =a", "updated_at ~ 2026"])
def test_spaces_around_the_sign_do_not_count(here: Index, condition: str) -> None:
    here.put("k", {"title": "=a", "status": "200"}, updated_at="2026-01-01")
    here.put("l", {"title": "a", "status": "20"}, updated_at="2025-01-01")
    for where in (condition, [condition]):
        assert [record["key"] for record in here.scan(where=where)] == ["k"]
        assert here.read(where=where, columns="key").rows() == [("k",)]


def test_one_column_needs_no_list(here: Index) -> None:
    here.put("k", {"title": "a", "status": "200"})
    assert list(here.scan(columns="title")) == [{"title": "a"}] == here.read(columns="title").rows(named=True)


def test_a_prefix_is_written_as_keys_are() -> None:
    index = Index("memory:", keys="domain", fields=["v"], shards=16)
    index.put_many({"key": key, "v": ""} for key in ("Example.com", "example.org", "É.fr", "other"))
    for prefix, count in (("Example", 2), ("EXAMPLE.", 2), (" ex", 2), ("E\u0301", 1), ("", 4)):
        assert len(list(index.scan(prefix=prefix))) == count == index.read(prefix=prefix).height
    text = Index("memory:", fields=["v"], shards=16)
    text.put("Example", {"v": ""})
    assert list(text.scan(prefix="example")) == [] and len(list(text.scan(prefix="Ex"))) == 1


def test_a_column_named_twice_is_refused(here: Index) -> None:
    for look in (lambda: list(here.scan(columns=["key", "key"])), lambda: here.read(columns=["key", "key"])):
        with pytest.raises(BadInput, match="'key' is named twice"):
            look()


def test_a_field_that_somebody_else_added_is_there(here: Index, folder: str) -> None:
    other = Index(folder)
    here.put("k", {"title": "1", "status": ""})
    assert other.schema.own == ("title", "status")
    here.add_fields("lang")
    here.put("l", {"title": "2", "status": "", "lang": "de"})
    wanted = {("k", None), ("l", "de")}
    assert {(row["key"], row["lang"]) for row in other.read().rows(named=True)} == wanted
    here.add_fields("more")
    here.put("l", {"title": "2", "status": "", "lang": "de", "more": "x"})
    assert set(other.sql("select key, lang from records").fetchall()) == wanted
    here.add_fields("again")
    here.put("l", {"title": "2", "status": "", "lang": "de", "more": "x", "again": "y"})
    assert all(set(record) == {*other.schema.shown} for record in other.scan())


def test_a_field_that_is_added_meanwhile_is_left_out(here: Index, folder: str) -> None:
    here.put_many({"key": f"k{number}", "title": "", "status": ""} for number in range(50))
    records = Index(folder).scan()
    first = next(records)
    here.add_fields("lang")
    here.put_many({"key": f"k{number}", "title": "", "status": "", "lang": "x"} for number in range(50))
    assert {tuple(record) for record in records} == {tuple(first)}


def test_a_key_that_begins_with_a_byte_order_mark(here: Index) -> None:
    here.put("\ufeffx", {"title": "1", "status": None})
    for _ in range(2):
        assert [row[0] for row in here.read().rows()] == ["\ufeffx"] == [record["key"] for record in here.scan()]
        assert here.sql("select key from records").fetchall() == [("\ufeffx",)]
        here.compact()
