"""What is asked of a bucket, counted: these figures stand in docs/guides/index.md."""

import pytest

from dibs.index import site
from dibs.index.index import Index


@pytest.fixture(autouse=True)
def _one_look_at_the_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a slow machine would look again in between."""
    monkeypatch.setattr(site, "SCHEMA_SECONDS", 1e9)


def asked(index: Index) -> dict[str, int]:
    index.close()
    return dict(index.site.store.meter.counts)  # type: ignore[attr-defined]


def spent(index: Index, before: dict[str, int]) -> dict[str, int]:
    now = asked(index)
    return {kind: now[kind] - before[kind] for kind in now if now[kind] != before[kind]}


def prepared(url: str, records: int, shards: int = 16) -> Index:
    index = Index(url, fields=["title"], shards=shards)
    index.put_many({"key": f"k{number}", "title": "x"} for number in range(records))
    index.compact()
    return index


def test_put_and_get(bucket_url: str) -> None:
    index = prepared(bucket_url, 300)
    before = asked(index)
    assert index.get("k7") is not None
    assert spent(index, before) == {"list": 1, "get": 1}
    before = asked(index)
    index.put("k7", {"title": "y"})
    assert spent(index, before) == {"put": 1}
    before = asked(index)
    assert (index.get("k7") or {})["title"] == "y"
    assert spent(index, before) == {"list": 1, "get": 2}
    before = asked(index)
    index.delete("k7")
    assert spent(index, before) == {"put": 1}


def test_a_lookup_asks_the_manifest_where_a_shard_has_no_file(bucket_url: str) -> None:
    index = Index(bucket_url, fields=["title"], shards=16)
    index.put("k", {"title": "x"})
    for gets in (3, 1):
        before = asked(index)
        assert index.get("k") is not None
        assert spent(index, before) == {"list": 1, "get": gets}
        index.compact()


def test_a_lookup_costs_the_same_however_much_there_is(bucket_url: str) -> None:
    index = prepared(bucket_url, 20)
    for count in (20, 400):
        index.put_many({"key": f"more{number}", "title": "x"} for number in range(count))
        index.compact()
        before = asked(index)
        index.get("k1")
        assert spent(index, before) == {"list": 1, "get": 1}


def test_a_thousand_records_in_one_batch(bucket_url: str) -> None:
    index = prepared(bucket_url, 1500, 256)
    before = asked(index)
    index.put_many({"key": f"k{number}", "title": "y"} for number in range(1000))
    shards = len(index.waiting())
    found = spent(index, before)
    assert found.pop("list") <= 1 + 256  # of `waiting`; a server may list folders that are empty
    assert found == {"put": shards}
    before = asked(index)
    index.compact()
    found = spent(index, before)
    assert found.pop("list") <= 2 + 2 * 256
    assert found.pop("delete") <= 20  # they go together, at the latest after two seconds
    assert found == {"put": 3 * shards, "get": 3 * shards}
    assert 240 <= shards <= 256


def test_a_pass_over_a_small_inbox(bucket_url: str) -> None:
    index = prepared(bucket_url, 100)
    keys = [f"k{number}" for number in range(5)]
    for key in keys:
        index.put(key, {"title": "y"})
    shards = len({index.site.shard_of(key) for key in keys})
    before = asked(index)
    assert [done.outcome for done in index.compact_once()] == ["merged"] * shards
    found = spent(index, before)
    assert found.pop("list") <= 2
    assert found.pop("delete") <= 2
    assert found == {"put": 3 * shards, "get": 2 * shards + len(keys)}
