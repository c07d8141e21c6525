"""What an index promises its users, in memory, in a folder and in a bucket."""

from functools import partial

import pytest
from tests.index.conftest import values

from dibs.errors import BadInput, FormatError, Refused
from dibs.index.compactor import MERGED
from dibs.index.index import Index


def test_put_get_delete_before_and_after_compaction(index: Index) -> None:
    index.put("example.com", {"title": "Ex\x1fample\n", "status": None})
    index.put_many({"key": f"k{number}", "title": "", "status": number} for number in range(40))
    index.put("k7", {"title": "seven", "status": "7"})
    index.delete("k8")
    for _ in range(2):
        assert values(index, "example.com") == ("Ex\x1fample\n", None)
        assert values(index, " k9 ") == ("", "9")
        assert values(index, "k7") == ("seven", "7")
        assert index.get("k8") is None and index.get("nothing") is None
        found = {record["key"]: record for record in index.scan()}
        assert len(found) == 40 and found["k7"]["title"] == "seven"
        assert {done.outcome for done in index.compact()} <= {MERGED, "nothing"}
        assert index.waiting() == []
    assert index.verify() == []


def test_the_later_time_wins_in_whatever_order(index: Index) -> None:
    index.put("k", {"title": "new", "status": ""}, updated_at="2026-11-16T12:00:00+01:00")
    index.compact()
    index.put("k", {"title": "old", "status": ""}, updated_at="2026-11-16T10:59:59Z")
    assert values(index, "k") == ("new", "")
    index.compact()
    assert values(index, "k") == ("new", "")
    index.delete("k", updated_at="2026-11-16T10:00:00Z")
    assert values(index, "k") == ("new", "")
    index.put("k", {"title": "newest", "status": ""}, updated_at="2026-11-16T11:00:00.001Z")
    assert values(index, "k") == ("newest", "")


def test_another_object_sees_the_same(url: str) -> None:
    if url == "memory:":
        return
    with Index(url, fields=["title"], key="domain", keys="domain", stamps="store") as one, Index(url) as other:
        one.put("Example.COM.", {"title": "x"})
        assert (other.get("example.com") or {})["title"] == "x"
        assert other.site.root == one.site.root and other.schema.key == "domain"
        other.compact()
        assert [record["domain"] for record in one.scan()] == ["example.com"]


def test_what_others_compacted_does_not_wait(here: Index, folder: str) -> None:
    for number in range(500):
        here.put("k", {"title": str(number), "status": ""})
    assert len(Index(folder).compact()) >= 1
    assert here.waiting() == [] and here.stats().inbox == 0
    assert values(here, "k") == ("499", "")
    assert not here._inbox._seen[here.site.shard_of("k")]


def test_the_same_writer_never_loses_to_itself(here: Index) -> None:
    for number in range(50):
        here.put("k", {"title": str(number), "status": ""})
        assert values(here, "k") == (str(number), "")
    here.put_many({"key": "k", "title": str(number), "status": ""} for number in range(100))
    assert values(here, "k") == ("99", "")


def test_field_by_field(url: str) -> None:
    with Index(url, merge="fields", fields=["title", "status"]) as index:
        index.put("k", {"title": "a", "status": "1"}, updated_at=1)
        index.put("k", {"status": "3"}, updated_at=3)
        index.compact()
        index.put("k", {"title": "b"}, updated_at=2)
        for _ in range(2):
            assert index.get("k") == {"key": "k", "updated_at": "3", "title": "b", "status": "3"}
            assert list(index.scan(columns=["title"])) == [{"title": "b"}]
            index.compact()


def test_scans_choose(index: Index) -> None:
    index.put_many({"key": f"k{number}", "title": f"t{number % 3}", "status": number} for number in range(30))
    index.compact()
    index.put("k3", {"title": None, "status": "3"})
    assert {record["key"] for record in index.scan(prefix="k2")} == {"k2", *(f"k2{digit}" for digit in range(10))}
    assert {record["status"] for record in index.scan(where=["title=t0", "status>=20"])} == {"21", "24", "27"}
    assert len(list(index.scan(where=["title!=t0"]))) == 20
    assert len(list(index.scan(where=["title~t"], columns=["key"]))) == 29
    assert len(list(index.scan(where=["updated_at>2020-01-01"]))) == 30
    for wrong in ({"where": ["nix=1"]}, {"where": ["title"]}, {"columns": ["nix"]}):
        with pytest.raises(BadInput):
            list(index.scan(**wrong))  # type: ignore[arg-type]


def test_tables_are_what_a_scan_is(index: Index) -> None:
    index.put_many(
        {"key": f"k{number}", "title": "\\N\n" if number % 2 else None, "status": ""} for number in range(30)
    )
    index.compact()
    index.delete("k4")
    index.put("k5", {"title": "five", "status": None})
    wanted = sorted(tuple(record.values()) for record in index.scan())
    assert sorted(index.read().rows()) == wanted
    assert index.read("arrow").num_rows == 29
    assert sorted(index.read("duckdb").fetchall()) == wanted
    assert index.sql("select count(*), count(title), count(status) from records").fetchall() == [(29, 15, 28)]
    chosen = index.read(where=["title=five"], columns=["key", "status"])
    assert chosen.rows() == [("k5", None)]
    with pytest.raises(BadInput, match="pandas"):
        index.read("pandas")


def test_a_writer_with_other_fields_is_refused_with_the_difference(here: Index) -> None:
    with pytest.raises(Refused, match=r"has 'tittle' \(is 'title' meant\?\).* and lacks 'title'.*--add tittle"):
        here.put("k", {"tittle": "x", "status": "1"})
    with pytest.raises(Refused, match="lacks 'status'"):
        here.put_many([{"key": "k", "title": "x"}])
    assert here.waiting() == []
    here.put("k", {"title": "x"}, sparse=True)
    with pytest.raises(Refused, match="has the fields key, updated_at, title, status"):
        Index(here.site.url, fields=["status", "title"])


def test_fields_are_added_at_the_end(here: Index, folder: str) -> None:
    here.put("old", {"title": "x", "status": "1"})
    here.put("older", {"title": "x", "status": "1"})
    here.compact()
    other = Index(folder)
    assert other.schema.version == 1
    here.put("old", {"title": "y", "status": "2"})
    assert here.add_fields("lang", "title").shown == ("key", "updated_at", "title", "status", "lang")
    here.put("new", {"title": "z", "status": "3", "lang": "de"})
    for index in (here, other, Index(folder)):
        assert values(index, "old") == ("y", "2", None) and values(index, "new") == ("z", "3", "de")
        assert index.read().shape == (3, 5)
        index.compact()
    assert values(here, "older") == ("x", "1", None)
    assert here.verify() == []


def test_what_cannot_be_stored_is_refused(here: Index) -> None:
    for key, fields, time in [("", {}, None), ("k" * 2000, {}, None), ("k", {}, "yesterday"), ("k", {}, True)]:
        with pytest.raises(BadInput):
            here.put(key, {"title": "", "status": "", **fields}, updated_at=time)
    for record in ({"title": "", "status": ""}, {"key": "k", "title": object(), "status": ""}):
        with pytest.raises((BadInput, Refused)):
            here.put_many([record])
    assert here.waiting() == []


def test_nothing_is_made_by_looking(folder: str, bucket_url: str) -> None:
    for url in (folder, bucket_url):
        index = Index(url, create=False)
        for look in (partial(index.get, "k"), index.scan, index.stats, index.verify, index.compact):
            with pytest.raises(FormatError, match="no index"):
                list(look() or ())  # type: ignore[call-overload]
        with pytest.raises(FormatError):
            index.put("k", {"title": "x"})
        with pytest.raises(FormatError, match="nothing to delete"):
            index.delete("k")


@pytest.mark.parametrize(
    "settings", [{"shards": 100}, {"merge": "both"}, {"keys": "url"}, {"stamps": "moon"}, {"fields": ["a", "a"]},
                 {"fields": [" a"]}, {"fields": ["_times"]}, {"fields": ["key"]}]
)  # fmt: skip
def test_bad_settings_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(BadInput):
        Index("memory:", **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("url", ["redis://x", "s3://bucket", "folder?sync=maybe", "folder?x=1", "s3://b/p?nix=1"])
def test_bad_places_are_refused(url: str) -> None:
    with pytest.raises(BadInput):
        Index(url, create=False)


def test_a_queue_is_no_index(tmp_path: object) -> None:
    import dibs

    dibs.open(f"{tmp_path}/q").push(1)
    with pytest.raises(FormatError, match="not an index"):
        dibs.Index(f"{tmp_path}/q").get("k")


def test_stats_tell_what_there_is(index: Index) -> None:
    index.put_many({"key": f"k{number}", "title": "", "status": ""} for number in range(40))
    found = index.stats()
    assert (found.records, found.inbox, found.compacted_at) == (0, len(index.waiting()), None)
    assert found.inbox_age is not None and found.inbox_age >= 0
    index.compact()
    index.delete("k1")
    index.compact()
    found = index.stats()
    assert (found.records, found.deletions, found.inbox, found.inbox_age, found.damaged) == (39, 1, 0, None, 0)
    assert found.bytes > 40 * 30 and found.compacted_at is not None
    assert all(one.held_by is None for one in found.each)
