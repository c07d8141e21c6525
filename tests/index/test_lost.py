"""A shard that is gone, cut short or out of reach: what can be read is read, and nobody is left to think it is all."""

import errno
import os
from collections.abc import Callable

import pytest
from tests.index.test_any_byte import unreadable
from tests.index.test_commands import dibs
from tests.index.test_damage import at, fill, shard_with

from dibs.cli import main
from dibs.errors import StorageError
from dibs.index.compactor import GONE, MERGED, NOTHING, REFUSED
from dibs.index.index import Index
from dibs.index.layout import file_of, inbox_of, lock_of
from dibs.index.resharding import reshard
from dibs.stores.files import FileStore, Names
from dibs.stores.refusal import storage_error
from dibs.stores.store import Entry


def key_in(index: Index, shard: str) -> str:
    return next(f"k{number}" for number in range(60) if index.site.shard_of(f"k{number}") == shard)


def compacted(index: Index) -> tuple[str, int]:
    """A shard of an index of 60 records, and how many it has."""
    fill(index)
    index.compact()
    shard = shard_with(index)
    return shard, next(one.records for one in index.stats().each if one.shard == shard)


def take_away(index: Index, shard: str) -> None:
    os.unlink(at(index, file_of(shard)))


def empty(index: Index, shard: str) -> None:
    os.truncate(at(index, file_of(shard)), 0)


@pytest.mark.parametrize("lose", [take_away, empty])
def test_a_lost_shard_is_told_by_whoever_reads(here: Index, folder: str, lose: Callable[[Index, str], None]) -> None:
    shard, count = compacted(here)
    key = key_in(here, shard)
    lose(here, shard)
    gone = f"{file_of(shard)} is gone or empty, though it had {count} records"
    for words in (["scan", folder], ["sql", folder, "select 1"], ["reshard", folder, f"{folder}2"]):
        assert gone in dibs(*words, code=1)
    assert gone in dibs("get", folder, key, code=1)
    assert len(list(Index(f"{folder}2").scan())) == 60 - count
    with Index(folder) as other:
        assert len(list(other.scan())) == other.read().height == 60 - count
        assert [damage.path for damage in other.damages] == [file_of(shard)]
        with pytest.raises(StorageError, match="is gone or empty"):
            other.get(key)
    assert f"0 of {count} records can be read" in dibs("repair", folder)
    dibs("scan", folder)
    assert here.get(key) is None and here.verify() == []


def test_stats_tell_of_a_file_that_is_gone(here: Index, folder: str) -> None:
    shard, _ = compacted(here)
    dibs("stats", folder)
    take_away(here, shard)
    assert f"{file_of(shard)} is gone" in dibs("stats", folder, code=1)


def test_a_shard_that_was_never_compacted_is_not_missed(index: Index) -> None:
    fill(index)
    assert len(list(index.scan())) == 60 and index.get("nix") is None and index.damages == []
    index.compact()
    assert index.get("nix") is None and index.damages == []


def test_a_shard_that_is_written_just_then_is_read(here: Index, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its file is looked for, then somebody compacts, and only then the manifest is read."""
    here.put("k", {"title": "", "status": ""})
    shard = here.site.shard_of("k")
    reader = Index(folder)
    get = reader.site.locks.get

    def late(path: str) -> Entry | None:
        here.compact()
        return get(path)

    monkeypatch.setattr(reader.site.locks, "get", late)
    found = reader._reader._stored(shard)
    assert isinstance(found, Entry) and b"k" in found.data
    assert reader.get("k") is not None and reader.damages == []


def test_an_empty_shard_is_not_begun_anew_in_any_store(index: Index) -> None:
    shard, count = compacted(index)
    store, path = index.site.store, file_of(shard)
    kept = store.get(path)
    assert kept is not None
    store.replace(path, b"", kept.version)
    fill(index)
    assert GONE in {done.outcome for done in index.compact()} and index.waiting() == [shard]
    with pytest.raises(StorageError, match=f"though it had {count} records|0 of {count} records can be read"):
        index.get(key_in(index, shard))
    index.repair()
    assert index.verify() == [] and len(list(index.scan())) == 60


def test_a_shard_whose_lock_cannot_be_read_either_is_left_out(here: Index, folder: str) -> None:
    shard, count = compacted(here)
    take_away(here, shard)
    unreadable(at(here, lock_of(shard)))
    assert len(list(here.scan())) == 60 - count and [damage.path for damage in here.damages] == [file_of(shard)]
    at(here, file_of(shard)).write_bytes(b"\0" * 200)
    assert len(list(here.scan())) == 60 - count


def test_how_much_of_a_shard_that_was_cut_short_is_left(here: Index, folder: str) -> None:
    shard, count = compacted(here)
    path = at(here, file_of(shard))
    data = path.read_bytes()
    left = f"{count - 1} of {count} records can be read"
    os.truncate(path, data.rindex(b"\x1e\n", 0, -2) + 2)
    for action in ("scan", "verify", "repair"):
        assert left in dibs(action, folder, code=0 if action == "repair" else 1)
    assert here.verify() == [] and len(list(here.scan())) == 59


def test_without_a_head_the_manifest_says_how_many_there_were(here: Index, folder: str) -> None:
    shard, count = compacted(here)
    path = at(here, file_of(shard))
    path.write_bytes(b"\0" * 200)
    assert f"0 of {count} records can be read" in dibs("scan", folder, code=1)


def test_a_key_that_may_be_in_the_damaged_part_is_no_missing_one(here: Index, folder: str) -> None:
    shard, _ = compacted(here)
    path = at(here, file_of(shard))
    lines = path.read_bytes().split(b"\x1e\n")
    first, last = (lines[place].partition(b"\x1f")[0].decode() for place in (1, -2))
    os.truncate(path, path.stat().st_size - 3)
    assert (here.get(first) or {})["key"] == first
    with pytest.raises(StorageError, match=f"is damaged and may have had '{last}'"):
        here.get(last)
    here.put(last, {"title": "", "status": ""}, updated_at=1)
    with pytest.raises(StorageError, match="may have had"):
        here.get(last)
    here.compact()
    assert (here.get(last) or {})["updated_at"] == "1"


def closed(monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    """As without permission to it, for root too."""
    names = FileStore.names

    def refusing(self: FileStore, asked: str) -> Names:
        if asked == folder:
            raise storage_error(PermissionError(errno.EACCES, os.strerror(errno.EACCES)), asked)
        return names(self, asked)

    monkeypatch.setattr(FileStore, "names", refusing)


def test_an_inbox_that_cannot_be_listed_holds_up_no_other(
    here: Index, folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(here)
    shard = here.waiting()[0]
    count = sum(here.site.shard_of(f"k{number}") == shard for number in range(60))
    others = here.waiting()[1:]

    def said(*words: str) -> tuple[str, str]:
        assert main(["index", *words]) == 1
        out, err = capsys.readouterr()
        assert inbox_of(shard) in err
        return out, err

    with monkeypatch.context() as refused:
        closed(refused, inbox_of(shard))
        refused.setattr("signal.signal", lambda *handler: None)  # which is for a process of its own
        assert len(said("scan", folder)[0].splitlines()) == 60 - count
        assert said("sql", folder, "select count(*) as n from records")[0] == f'{{"n":{60 - count}}}\n'
        assert said("compact", folder, "--waiting")[0].split() == others
        assert "inbox files" in said("stats", folder)[0]
        said("reshard", folder, f"{folder}2")
        said("compact", folder, "--once")
        assert here.waiting() == []
        with pytest.raises(StorageError):
            here.get(key_in(here, shard))
        outcomes = {done.shard: done.outcome for done in here.compact_all()}
        assert outcomes.pop(shard) == REFUSED and set(outcomes.values()) <= {MERGED, NOTHING}
    assert len(list(Index(f"{folder}2").scan())) == 60 - count
    assert here.waiting() == [shard] and here.compact() and len(list(here.scan())) == 60


def test_a_damaged_source_is_in_damages(here: Index, folder: str) -> None:
    shard, count = compacted(here)
    take_away(here, shard)
    assert reshard(here, f"{folder}2").records == 60 - count
    assert [damage.path for damage in here.damages] == [file_of(shard)]


def test_a_put_that_is_refused_names_the_inbox(here: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(one: str, other: str) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), one, None, other)

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(StorageError, match=f"refused .*/{inbox_of(here.site.shard_of('k'))}"):
        here.put("k", {"title": "", "status": ""})
