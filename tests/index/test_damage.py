"""Damaged files are set aside with what was in them; the good records are kept, and the other shards go on."""

import os
from pathlib import Path

from tests.index.conftest import values

from dibs.index.block import pack
from dibs.index.compactor import CHANGED, GONE, HELD, MERGED, Compactor
from dibs.index.index import Index
from dibs.index.layout import file_of, inbox_of, lock_of
from dibs.index.usv import line_of
from dibs.lease import Leases


def fill(index: Index, count: int = 60) -> None:
    index.put_many({"key": f"k{number}", "title": "x" * 20, "status": str(number)} for number in range(count))


def at(index: Index, path: str) -> Path:
    return Path(index.site.url, path)


def damage(path: Path, old: bytes = b"\x1f" + b"x" * 20, new: bytes = b"?" + b"x" * 20) -> bytes:
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, 1))
    return path.read_bytes()


def shard_with(index: Index, many: int = 3) -> str:
    return next(one.shard for one in index.stats().each if one.records >= many)


def test_a_damaged_shard_keeps_its_good_records(here: Index) -> None:
    fill(here)
    here.compact()
    shard = shard_with(here)
    had = here.stats()
    bytes_before = damage(at(here, file_of(shard)))
    assert [finding.kind for finding in here.verify()] == ["damaged"]
    assert len(list(here.scan())) == 59
    (found,) = here.damages
    assert (found.path, found.bad) == (file_of(shard), 1)
    fill(here, 1)
    here.put_many([{"key": f"new{number}", "title": "", "status": ""} for number in range(200)])
    done = here.compact()
    (told,) = [damage for one in done for damage in one.damages]
    assert at(here, told.aside).read_bytes() == bytes_before
    assert (told.bad, told.kept) == (1, next(one.records for one in had.each if one.shard == shard) - 1)
    assert all(one.outcome in (MERGED, "nothing") for one in done)
    assert len(list(here.scan())) in (259, 260)  # 260 when k0 was the record that was damaged
    assert here.verify() == []
    assert here.stats().damaged == 1


def test_a_damaged_inbox_file_keeps_its_good_records(here: Index) -> None:
    fill(here)
    shard = here.waiting()[0]
    (path,) = here._inbox.names(shard)
    bytes_before = damage(at(here, path))
    assert len(list(here.scan())) == 59
    done = here.compact()
    (told,) = [damage for one in done for damage in one.damages]
    assert told.path == path and told.bad == 1 and at(here, told.aside).read_bytes() == bytes_before
    assert not at(here, path).exists()
    assert len(list(here.scan())) == 59 and here.verify() == []


def test_a_shard_that_is_gone_is_not_begun_anew(here: Index) -> None:
    fill(here)
    here.compact()
    shard = shard_with(here)
    kept = at(here, file_of(shard)).read_bytes()
    os.unlink(at(here, file_of(shard)))
    here.put_many({"key": f"new{number}", "title": "", "status": ""} for number in range(200))
    assert {done.outcome for done in here.compact_all()} >= {GONE, MERGED}
    assert here.waiting() == [shard]
    assert "gone" in [finding.kind for finding in here.verify()]
    at(here, file_of(shard)).write_bytes(kept)
    here.compact()
    assert len(list(here.scan())) == 260
    os.unlink(at(here, file_of(shard)))
    here.repair()
    assert here.verify() == []


def test_a_file_of_an_older_dialect_in_the_inbox_is_taken(here: Index) -> None:
    shard = here.site.shard_of("k")
    here.put("k", {"title": "x", "status": "1"}, updated_at=1)
    at(here, f"{inbox_of(shard)}by-hand.usv").write_bytes(b"k\x1f2\x1fby hand\x1f\x1e")
    for _ in range(2):
        assert values(here, "k") == ("by hand", "")
        assert not [damage for done in here.compact() for damage in done.damages]
    assert here.waiting() == []


def test_records_in_the_wrong_shard_are_brought_home(here: Index) -> None:
    from dibs.index.block import pack

    shard = here.site.shard_of("k1")
    others = [key for key in (f"k{number}" for number in range(50)) if here.site.shard_of(key) != shard][:3]
    lines = sorted(line_of([key, "1", "x", "y"]) for key in ("k1", *others))
    at(here, "shards").mkdir(exist_ok=True)
    at(here, file_of(shard)).write_bytes(pack(here.schema.fields, lines, "n"))
    assert "manifest" in {finding.kind for finding in here.verify()}
    here.repair()
    here.compact()
    assert here.verify() == []
    assert all(values(here, key) == ("x", "y") for key in ("k1", *others))


def test_a_shard_that_is_not_sorted_is_put_in_order(here: Index) -> None:
    from dibs.index.block import pack

    fill(here)
    here.compact()
    shard = shard_with(here)
    path = at(here, file_of(shard))
    lines = [line for line in path.read_bytes().split(b"\x1e\n")[1:] if line]
    path.write_bytes(pack(here.schema.fields, [*reversed(lines), lines[0]], "n"))
    assert {finding.kind for finding in here.verify()} == {"unsorted", "manifest"}
    here.repair()
    assert here.verify() == [] and len(list(here.scan())) == 60


def test_an_orphaned_lock_is_found_and_taken_over(here: Index, monkeypatch: object) -> None:
    fill(here)
    shard = here.waiting()[0]
    other = Index(here.site.url)
    gone = 2**22 + 5  # no process has this id
    other.site.process = lambda: gone
    leases: Leases = other._passes.compactor.leases
    assert leases.acquire(lock_of(shard), other._passes.compactor._holder()) is not None
    assert [(finding.kind, finding.path) for finding in here.verify()] == [("lock", lock_of(shard))]
    assert {done.outcome for done in here.compact()} <= {MERGED, "nothing"}
    assert here.verify() == []


def test_a_shard_that_somebody_compacts_is_left_to_them(here: Index) -> None:
    fill(here)
    shard = here.waiting()[0]
    compactor = Index(here.site.url)._passes.compactor
    held = compactor.leases.acquire(lock_of(shard), compactor._holder())
    assert held is not None
    outcomes = {done.shard: done.outcome for done in here.compact_all(wait=False)}
    assert outcomes.pop(shard) == HELD and set(outcomes.values()) <= {MERGED, "nothing"}
    assert here.waiting() == [shard]
    held.release()
    assert [done.outcome for done in here.compact(shard)] == [MERGED]


def test_a_shard_that_was_written_meanwhile_is_left_as_it_is(here: Index) -> None:
    """As when somebody slept through the expiry of its lock."""
    fill(here)
    shard = here.waiting()[0]
    first, second = Index(here.site.url), Index(here.site.url)
    merge = Compactor._write
    stopped = first._passes.compactor

    def write(path: str, version: object, data: object, held: object) -> str | None:
        os.unlink(at(here, lock_of(shard)))
        here.put_many([{"key": f"k{number}", "title": "newer", "status": ""} for number in range(60)])
        assert second.compact(shard)[0].outcome == MERGED
        return merge(stopped, path, version, data, held)  # type: ignore[arg-type]

    stopped._write = write  # type: ignore[method-assign, assignment]
    assert stopped.compact(shard).outcome == CHANGED
    here.compact()
    assert all(record["title"] == "newer" for record in here.scan())
    assert here.verify() == []


def test_an_empty_file_in_the_inbox_is_no_record_and_can_be_removed(here: Index) -> None:
    fill(here, 5)
    shard = here.waiting()[0]
    hollow = at(here, f"{inbox_of(shard)}hollow.usv")
    hollow.touch()
    assert [finding.kind for finding in here.verify()] == ["hollow"]
    assert len(list(here.scan())) == 5
    here.repair()
    assert not hollow.exists() and len(list(here.scan())) == 5


def test_a_file_of_somebody_else_with_a_key_twice(here: Index) -> None:
    lines = [line_of(["k", "2", "new", None]), line_of(["k", "1", "old", None])]
    path = f"{inbox_of(here.site.shard_of('k'))}{'0' * 32}.usv"
    here.site.store.create(path, pack(here.schema.fields, lines, "n"))
    here.compact()
    assert values(here, "k") == ("new", None)
