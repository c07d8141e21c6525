"""Large files on a share: who comes late, or dies, takes nothing back, and what a client remembers does not matter."""

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.errors import Unsupported
from dibs.index import opening
from dibs.index.compactor import MERGED
from dibs.stores import settle, versioned
from dibs.stores.store import Changed, Entry, Exists, Unsure
from dibs.stores.versioned import VersionedFileStore


@pytest.fixture
def store(tmp_path: Path) -> VersionedFileStore:
    return VersionedFileStore(str(tmp_path), replaced=lambda key: key == "cell")


@pytest.fixture
def nfs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "on_share", lambda path: True)
    monkeypatch.setattr(opening, "kind_of", lambda path: "nfs4")


class Meddled:
    """`os`, but something happens before or after the next call of one name for a version."""

    def __init__(self, name: str, before: Callable[[], Any] = int, after: Callable[[], Any] = int) -> None:
        self._name, self._acts = name, [(before, after)]

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name != self._name:
            return real

        def call(*given: str) -> Any:
            about = any(mark in given[-1] for mark in ("/cell/", ".usv/"))
            before, after = self._acts.pop() if about and self._acts else (int, int)
            before()
            result = real(*given)
            after()
            return result

        return call


def numbers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("others", [1, 2, 5])
def test_who_slept_before_the_write_changes_nothing(
    others: int, store: VersionedFileStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its number is taken, or free again since it was deleted."""
    version = store.create("cell", b"one")

    def go_on() -> None:
        seen = version
        for number in range(others):
            seen = store.replace("cell", b"other %d" % number, seen)

    with monkeypatch.context() as patched:
        patched.setattr(versioned, "os", Meddled("link", before=go_on))
        with pytest.raises(Changed):
            settle.replace(store, "cell", b"late", version)
    entry = store.get("cell")
    assert entry is not None and entry.data == b"other %d" % (others - 1)
    assert numbers(tmp_path / "cell") == [str(others + 1)]
    store.replace("cell", b"next", entry.version)
    assert numbers(tmp_path / "cell") == [str(others + 2)]


def test_of_two_who_create_one_does(store: VersionedFileStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def go_on() -> None:
        store.replace("cell", b"two", store.create("cell", b"one"))

    monkeypatch.setattr(versioned, "os", Meddled("link", before=go_on))
    with pytest.raises(Exists):
        settle.create(store, "cell", b"late")
    assert store.get("cell") == Entry(b"two", store._version(b"two"))


def test_who_was_followed_before_it_looked_again_is_not_sure_and_has_lost_nothing(
    store: VersionedFileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = store.create("cell", b"one")
    monkeypatch.setattr(
        versioned, "os", Meddled("link", after=lambda: store.replace("cell", b"three", store._version(b"two")))
    )
    with pytest.raises(Unsure):
        store.replace("cell", b"two", version)
    assert store.get("cell") == Entry(b"three", store._version(b"three"))


def test_who_dies_after_the_write_leaves_the_new_value(
    store: VersionedFileStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die() -> None:
        raise KeyboardInterrupt

    version = store.create("cell", b"one")
    with monkeypatch.context() as patched:
        patched.setattr(versioned, "os", Meddled("link", after=die))
        with pytest.raises(KeyboardInterrupt):
            store.replace("cell", b"two", version)
    assert numbers(tmp_path / "cell") == ["1", "2"]
    entry = store.get("cell")
    assert entry is not None and entry.data == b"two"
    store.replace("cell", b"three", entry.version)
    assert numbers(tmp_path / "cell") == ["3"]


def test_a_lost_answer_is_settled(store: VersionedFileStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client sends it again, and hears that it is there."""

    def refuse() -> None:
        raise FileExistsError(errno.EEXIST, "again")

    version = store.create("cell", b"one")
    monkeypatch.setattr(versioned, "os", Meddled("link", after=refuse))
    version = store.replace("cell", b"two", version)
    assert store.get("cell") == Entry(b"two", version)


def test_what_is_deleted_keeps_its_numbers(store: VersionedFileStore, tmp_path: Path) -> None:
    first = store.create("cell", b"one")
    store.delete_if("cell", first)
    assert store.get("cell") is None and store.delete("cell") is False
    assert numbers(tmp_path / "cell") == ["2"]
    with pytest.raises(Changed):
        store.replace("cell", b"late", first)
    again = store.create("cell", b"one")
    assert store.get("cell") == Entry(b"one", again)
    assert numbers(tmp_path / "cell") == ["3"]


@pytest.mark.parametrize("number", [errno.ENOENT, errno.ESTALE])
def test_a_version_that_goes_while_it_is_read_was_followed(
    number: int, store: VersionedFileStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = store.create("cell", b"one")
    real, failed = open, []

    def slow(path: str, *given: Any, **more: Any) -> Any:
        if path.endswith("cell/1") and not failed:
            failed.append(path)
            store.replace("cell", b"two", version)
            raise OSError(number, os.strerror(number))
        return real(path, *given, **more)

    monkeypatch.setattr(versioned, "open", slow, raising=False)
    entry = store.get("cell")
    assert entry is not None and entry.data == b"two" and failed


class Forgetful:
    """`os` of a client that remembers that a folder was missing, until the one above it is opened."""

    def __init__(self, path: Path) -> None:
        self._path, self._asked = str(path), False

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def _check(self, path: str) -> None:
        if not self._asked and path.rstrip("/").startswith(self._path):
            raise FileNotFoundError(errno.ENOENT, "as far as I remember")

    def open(self, path: str, flags: int) -> int:
        self._asked |= path == os.path.dirname(self._path)
        return os.open(path, flags)

    def listdir(self, path: str) -> list[str]:
        self._check(path)
        return os.listdir(path)

    def scandir(self, path: str) -> Any:
        self._check(path)
        return os.scandir(path)


@pytest.mark.parametrize("look", ["get", "names"])
def test_that_a_folder_was_missing_is_asked_for_anew(
    look: str, store: VersionedFileStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dibs.stores import anew, files

    version = store.create("cell", b"one")
    store.create("inbox/3f/one", b"x")
    forgetful = Forgetful(tmp_path / ("cell" if look == "get" else "inbox/3f"))
    for module in (anew, files, versioned):
        monkeypatch.setattr(module, "os", forgetful)
    if look == "get":
        assert store.get("cell") == Entry(b"one", version)
    else:
        assert list(store.list("inbox/3f/")) == ["inbox/3f/one"]


def test_names_that_a_client_gives_to_removed_files_are_nobodys(store: VersionedFileStore, tmp_path: Path) -> None:
    version = store.create("cell", b"one")
    for folder in (tmp_path, tmp_path / "cell"):
        (folder / ".nfs000000000000000c0000002a").write_bytes(b"old")
    assert list(store.list("")) == ["cell"]
    assert store.get("cell") == Entry(b"one", version)


def test_an_empty_file_that_has_no_versions_is_left_alone(store: VersionedFileStore, tmp_path: Path) -> None:
    (tmp_path / "once").touch()
    os.utime(tmp_path / "once", (1, 1))
    assert store.get("once") is None
    with pytest.raises(Exists):
        store.create("once", b"mine")


def filled(path: str) -> dibs.Index:
    index = dibs.Index(path, fields=["n"], shards=16)
    for number in range(40):
        index.put(f"key{number % 10}", {"n": str(number)}, updated_at=float(number))
        if number % 7 == 0:
            assert {done.outcome for done in index.compact_all()} == {MERGED, "nothing"} or number == 0
    assert MERGED in {done.outcome for done in index.compact_all()}
    return index


def values(index: dibs.Index) -> Iterator[int]:
    for key in map("key{}".format, range(10)):
        record = index.get(key)
        assert record is not None
        yield int(str(record["n"]))


def test_an_index_is_kept_on_nfs(nfs: None, tmp_path: Path) -> None:
    with filled(str(tmp_path / "index")) as index:
        assert list(values(index)) == list(range(30, 40))
        assert index.waiting() == [] and index.verify() == []
        index.add_fields("more")
        assert index.schema.shown[-1] == "more"
        (tmp_path / "index" / "shards" / ".nfs000000000000000c0000002a").write_bytes(b"old")
        assert index.verify() == [] and index.stats().records == 10


def test_what_was_made_on_nfs_is_read_and_written_on_its_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(opening, "on_share", lambda path: True)
        patched.setattr(opening, "kind_of", lambda path: "nfs4")
        filled(str(tmp_path / "index")).close()
    with dibs.Index(str(tmp_path / "index")) as index:
        assert list(values(index)) == list(range(30, 40))
        index.put("key0", {"n": "50"}, updated_at=50.0)
        index.compact()
        assert next(values(index)) == 50 and index.verify() == []


def test_what_was_made_on_a_disk_is_refused_on_nfs(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    filled(str(tmp_path / "index")).close()
    request.getfixturevalue("nfs")
    with pytest.raises(Unsupported, match=r"made on a disk.*reshard"):
        dibs.Index(str(tmp_path / "index"))


def test_no_index_is_kept_on_smb(nfs: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "kind_of", lambda path: "cifs")
    with pytest.raises(Unsupported, match="SMB"):
        dibs.Index(str(tmp_path / "index"))


def test_a_compactor_that_was_cut_off_takes_nothing_back(
    nfs: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    near, far = filled(str(tmp_path / "index")), dibs.Index(str(tmp_path / "index"), ttl=0.0)
    near.put("key0", {"n": "50"}, updated_at=50.0)
    (shard,) = near.waiting()

    def go_on() -> None:
        for number in (51, 52, 53):
            near.put("key0", {"n": str(number)}, updated_at=float(number))
            assert [done.outcome for done in near.compact(shard)] == [MERGED]

    with monkeypatch.context() as patched:
        patched.setattr(versioned, "os", Meddled("link", before=go_on))
        assert MERGED not in [done.outcome for done in far.compact(shard)]
    assert next(values(near)) == next(values(far)) == 53
    assert near.waiting() == []
