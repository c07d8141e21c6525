"""A store on a share: what its clients remember wrongly, and what their crashes leave, costs nothing."""

import os
from pathlib import Path

import pytest

import dibs
from dibs.errors import StorageError
from dibs.mounts import on_share
from dibs.queues.directory.steps import UNSEEN_SECONDS
from dibs.states import State
from dibs.stores import filelock, sealed, shared
from dibs.stores.files import FileStore
from dibs.stores.shared import FORGOTTEN_SECONDS, SharedFileStore, file_store
from dibs.stores.store import Changed, Entry, Exists
from dibs.testing import ManualClock


@pytest.fixture
def store(tmp_path: Path) -> SharedFileStore:
    return SharedFileStore(str(tmp_path))


class Forgetful:
    """`os` of a client that remembers an old file under a name. Only an exclusive create asks the server."""

    def __init__(self, path: Path) -> None:
        self._path, self._old = str(path), os.open(path, os.O_RDWR)

    def __getattr__(self, name: str) -> object:
        return getattr(os, name)

    def open(self, path: str, flags: int, mode: int = 0o666) -> int:
        return os.dup(self._old) if path == self._path and not flags & os.O_CREAT else os.open(path, flags, mode)


def test_whoever_has_the_old_file_in_mind_changes_nothing(
    store: SharedFileStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = store.create("cell", b"one")
    forgetful = Forgetful(tmp_path / "cell")
    store.delete_if("cell", first)
    second = store.create("cell", b"two")
    with monkeypatch.context() as patched:
        patched.setattr(filelock, "os", forgetful)
        for version in (first, second):
            with pytest.raises(Changed):
                store.replace("cell", b"three", version)
            with pytest.raises(Changed):
                store.delete_if("cell", version)
        with pytest.raises(Exists):
            store.create("cell", b"three")
        assert store.delete("cell") is False
    assert store.get("cell") == Entry(b"two", second)


def test_a_name_keeps_its_file(store: SharedFileStore, tmp_path: Path) -> None:
    version = store.create("cell", b"a long record, to begin with")
    number = (tmp_path / "cell").stat().st_ino
    for data in (b"short", b"a much longer record than the one that it had to begin with", b"x"):
        version = store.replace("cell", data, version)
        assert store.get("cell") == Entry(data, version)
        assert (tmp_path / "cell").stat().st_ino == number


def test_a_remover_who_died_half_way_holds_nothing_up_for_ever(
    store: SharedFileStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = store.create("cell", b"one")

    def die(path: str) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "unlink", die)
        with pytest.raises(KeyboardInterrupt):
            store.delete_if("cell", version)
    assert store.get("cell") is None and store.names("") == []
    with pytest.raises(Exists):  # it may be another file of that name that a client has in mind
        store.create("cell", b"two")
    old = store.now() - FORGOTTEN_SECONDS - 1
    os.utime(tmp_path / "cell", (old, old))
    assert store.get("cell") is None
    version = store.create("cell", b"two")
    assert store.get("cell") == Entry(b"two", version)


def test_what_a_creator_on_nfs_left_when_it_died_is_taken_in_time(
    store: SharedFileStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There an exclusive create keeps a number of its own where the times belong, until the client sets these."""
    (tmp_path / "cell").touch()
    os.utime(tmp_path / "cell", (905, 2147456980))
    with pytest.raises(Exists):
        store.create("cell", b"too soon")
    monkeypatch.setattr(shared, "HOLLOW_SECONDS", 0.0)
    version = store.create("cell", b"one")
    assert store.get("cell") == Entry(b"one", version)


def test_half_a_record_is_never_taken_for_one(store: SharedFileStore, tmp_path: Path) -> None:
    version = store.create("cell", b"one of them, and the whole of it")
    path = tmp_path / "cell"
    path.write_bytes(b"two" + path.read_bytes()[3:])
    with pytest.raises(StorageError, match="half written"):
        store.get("cell")
    with pytest.raises(Changed):
        store.replace("cell", b"three", version)
    assert store.delete("cell") is True


def test_what_a_store_that_renames_has_written_is_read_too(store: SharedFileStore, tmp_path: Path) -> None:
    version = FileStore(str(tmp_path)).create("cell", b"one")
    assert store.get("cell") == Entry(b"one", version)
    version = store.replace("cell", b"two", version)
    assert store.get("cell") == Entry(b"two", version)


def test_names_that_a_client_gives_to_removed_files_are_nobodys(store: SharedFileStore, tmp_path: Path) -> None:
    store.create("cell", b"one")
    (tmp_path / ".nfs000000000000000c0000002a").touch()
    assert list(store.list("")) == ["cell"]


@pytest.mark.parametrize("data", [b"x", b"{}", b"a" * 500])
@pytest.mark.parametrize("length", [0, 3, 509, 510, 2000])
def test_a_seal_gives_back_what_it_was_given(data: bytes, length: int) -> None:
    raw = sealed.sealed(data, length)
    assert len(raw) >= length and sealed.unsealed(raw) == data and not sealed.is_removed(raw)
    assert sealed.is_removed(sealed.REMOVED) and sealed.unsealed(sealed.REMOVED) == b""


@pytest.mark.parametrize(("kind", "share"), [("ext4", False), ("nfs4", True), ("nfs", True), ("cifs", True)])
def test_a_share_is_known_by_its_mount(kind: str, share: bool, tmp_path: Path) -> None:
    listing = tmp_path / "mounts"
    listing.write_text(f"/dev/sda / ext4 rw 0 0\nserver:/ {tmp_path} {kind} rw 0 0\n")
    assert on_share(str(tmp_path / "not" / "there" / "yet"), str(listing)) is share
    assert on_share("/", str(listing)) is False


def test_the_place_decides_on_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert file_store(str(tmp_path)).in_place is False
    monkeypatch.setattr(shared, "on_share", lambda root: True)
    assert file_store(str(tmp_path)).in_place is True


@pytest.mark.parametrize("url", ["file:{}/q", "dir:{0}/in?done={0}/out&settle=0"])
def test_queues_on_a_share(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "on_share", lambda root: True)
    (tmp_path / "in").mkdir()
    queue = dibs.open(url.format(tmp_path))
    for number in range(20):
        queue.push({"n": number}, key=f"task{number}.json")
        queue.push({"n": number}, key=f"task{number}.json")
    taken = []
    while lease := queue.claim():
        lease.renew()
        taken.append(lease.id)
        lease.complete()
    assert len(taken) == len(set(taken)) == 20
    assert queue.stats().states["completed"] == 20


def test_a_witness_that_a_share_does_not_show_yet_is_no_witness_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client may remember for a while that the name was missing: then the past alone says that it is completed."""
    monkeypatch.setattr(shared, "on_share", lambda root: True)
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a").write_text("x")
    clock = ManualClock()
    monkeypatch.setattr(FileStore, "now", lambda store: clock.wall())
    queue = dibs.open(f"dir:{tmp_path}/in?done={tmp_path}/out&settle=0", clock=clock)
    lease = queue.claim()
    assert lease is not None
    lease.complete()
    (tmp_path / "out/a").unlink()
    assert queue.claim() is None
    assert queue.get("a").state is State.COMPLETED
    clock.advance(UNSEEN_SECONDS + 5)
    again = queue.claim()
    assert again is not None
    assert again.epoch == 2
