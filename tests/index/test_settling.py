"""What is settled at creation: by a first record that was taken, by nothing else; nobody overrules it in silence."""

import os
from typing import Any

import pytest
from tests.index.test_commands import dibs

from dibs.errors import BadInput, DibsError, FormatError, Refused
from dibs.index.index import Index
from dibs.stores.files import FileStore


@pytest.mark.parametrize(
    "put",
    [
        lambda index: index.put_many([{"domain": "a", "title": "x"}]),
        lambda index: index.put("", {"titel": "x"}),
        lambda index: index.put("k", {"titel": "x"}, updated_at="yesterday"),
        lambda index: index.put_many([{"key": "a", "x": ""}, {"key": "b", "y": ""}]),
        lambda index: index.put("k", {"titel": object()}),
    ],
)
def test_a_refused_first_put_settles_nothing(url: str, put: Any) -> None:
    index = Index(url)
    with pytest.raises(DibsError):
        put(index)
    with pytest.raises(FormatError, match="no index"):
        index.get("k")
    index.put("k", {"title": "x"})
    assert index.schema.own == ("title",) and index.get("k") is not None


def test_a_first_put_that_is_repeated_with_the_right_key(folder: str) -> None:
    given = '{"domain": "a.org", "title": "A"}\n'
    assert "no 'key'" in dibs("put", folder, "--jsonl", "-", given=given, code=2)
    dibs("put", folder, "--jsonl", "-", "--key-field", "domain", given=given)
    assert '"domain":"a.org"' in dibs("get", folder, "a.org", "--json")


def test_somebody_else_may_be_first(folder: str) -> None:
    late = Index(folder, keys="text")
    assert late.site.found_schema() is None
    create = late.site.create

    def overtaken(fields: Any) -> Any:
        Index(folder, fields=["title", "status"], shards=16)
        return create(fields)

    late.site.create = overtaken  # type: ignore[method-assign]
    late.put("k", {"status": "1", "title": "x"})
    assert Index(folder).get("k") == late.get("k") != None  # noqa: E711
    assert late.site.root.shards == 16 and late.verify() == []
    late.compact()
    assert late.verify() == [] and late.waiting() == []


@pytest.mark.parametrize("other", [{"shards": 16}, {"merge": "fields"}, {"keys": "domain"}, {"stamps": "store"}])
def test_other_settings_than_the_index_has_are_refused(folder: str, other: dict[str, Any]) -> None:
    ((name, value),) = other.items()
    Index(folder, fields=["a"])
    with pytest.raises(Refused, match=f"{name} .*, not {value}, .* leave --{name} out"):
        Index(folder, **other).get("k")
    for words in (["create", folder, "--fields", "a"], ["put", folder, "--key", "k", "--field", "a=1"]):
        assert f"leave --{name} out" in dibs(*words, f"--{name}", str(value), code=1)
    dibs("create", folder, "--fields", "a", "--shards", "256", "--merge", "record", "--keys", "text")
    assert Index(folder).waiting() == []


@pytest.mark.parametrize("other", [{"key": "domain"}, {"time": "fetched"}])
def test_other_names_of_key_and_time_than_the_index_has_are_refused(folder: str, other: dict[str, str]) -> None:
    ((word, name),) = other.items()
    Index(folder, fields=["a"])
    for look in (lambda index: list(index.scan()), lambda index: index.put("k", {"a": ""})):
        with pytest.raises(Refused, match=f"has the {word} field '.*', not '{name}', which is settled"):
            look(Index(folder, **other))  # type: ignore[arg-type]
    given = f'{{"key": "k", "a": "", "{name}": "5"}}\n'
    words = ["put", folder, "--jsonl", "-", f"--{word}-field", name]
    assert f"leave --{word}-field out" in dibs(*words, given=given, code=1)
    dibs("put", folder, "--key", "k", "--field", "a=", "--key-field", "key", "--time-field", "updated_at")
    assert [record["key"] for record in Index(folder).scan()] == ["k"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["get", "{}", "k"], 1),
        (["put", "{}", "--key", "k", "--shards", "20"], 2),
        (["put", "{}", "--jsonl", "-"], 2),
        (["create", "{}", "--fields", "a,a"], 2),
        (["import", "{}", "{}/nix"], 2),
        (["compact", "{}", "--all"], 1),
    ],
)
def test_what_comes_to_nothing_leaves_no_folder(folder: str, words: list[str], code: int) -> None:
    dibs(*(word.format(folder) for word in words), given="{nonsense", code=code)
    with pytest.raises(FormatError, match="no index"):
        Index(folder).get("k")
    assert not os.path.exists(folder)


def test_the_store_stamps_the_first_record_too(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FileStore, "_server_time", lambda store: 86400.0 if os.path.isdir(store.root) else 0.0)
    index = Index(folder, stamps="store")
    index.put("k", {"a": ""})
    assert str((index.get("k") or {})["updated_at"]).startswith("1970-01-02")


@pytest.mark.parametrize(
    "put",
    [
        lambda index: index.put("k", "abc"),
        lambda index: index.put_many([None]),
        lambda index: index.put_many(None),
        lambda index: index.put_many({"key": "k"}),
        lambda index: index.put_many([{"key": "k", 1: "x"}]),
        lambda index: index.put("k", {"key": "other", "title": "", "status": ""}),
        lambda index: index.put("k", {"updated_at": "1", "title": "", "status": ""}, updated_at="2"),
        lambda index: index.put("k", {"title": "", "status": ""}, updated_at=10**400),
        lambda index: index.put("k", {"title": "", "status": ""}, updated_at=10**9999),
        lambda index: index.put("k", {"title": "", "status": ""}, updated_at=float("nan")),
    ],
)
def test_what_is_no_record_is_refused_in_one_line(here: Index, put: Any) -> None:
    with pytest.raises(BadInput, match=r"^[^\n]+$"):
        put(here)
    assert here.waiting() == []


def test_the_key_may_be_given_twice_if_it_is_the_same(here: Index, folder: str) -> None:
    here.put("k", {"key": "k", "updated_at": "5", "title": "", "status": ""}, updated_at="5")
    assert (here.get("k") or {})["updated_at"] == "5"
    words = ["put", folder, "--key", "a", "--field", "key=other", "--field", "title=", "--field", "status="]
    assert "given twice" in dibs(*words, code=2)


@pytest.mark.parametrize("key", ["a .", "a. .", "İ̱", "İ\u0734", "Σ\u2028..", "Ä.", " B.. "])
def test_normalising_a_domain_again_changes_nothing(key: str) -> None:
    index = Index("memory:", keys="domain", fields=["v"], shards=16)
    once = index.site.normalised(key)
    assert index.site.normalised(once) == once
    index.put(key, {"v": "1"})
    index.compact()
    assert index.verify() == [] and index.get(once) == index.get(key) != None  # noqa: E711
