"""What every store promises, on each store; then what only files must withstand."""

import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dibs.clock import SystemClock
from dibs.errors import BadInput, StorageError
from dibs.stores import settle
from dibs.stores.files import HOLLOW_SECONDS, Busy, FileStore
from dibs.stores.memory import MemoryStore
from dibs.stores.shared import SharedFileStore
from dibs.stores.store import Changed, Entry, Exists, Store, Unsure
from dibs.stores.versioned import VersionedFileStore


def versioned(root: str) -> VersionedFileStore:
    """Every key has versions, so that a folder has folders in it, and a key has files."""

    def replaced(key: str) -> bool:
        try:
            with os.scandir(f"{root}/{key}") as entries:
                return not any(entry.is_dir() for entry in entries)
        except (OSError, ValueError):
            return True

    return VersionedFileStore(root, replaced=replaced)


KINDS: dict[str, Callable[[str], FileStore]] = {
    "files": FileStore,
    "files of a share": SharedFileStore,
    "large files of a share": versioned,
}


@pytest.fixture(
    params=["memory", "files", "synced files", "files without links", "files of a share", "large files of a share"]
)
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    if request.param == "memory":
        return MemoryStore()
    if request.param == "files without links":

        def refuse(*_: object) -> None:
            raise OSError(errno.EPERM, "no hard links here")

        monkeypatch.setattr(os, "link", refuse)
    if request.param in KINDS:
        return KINDS[request.param](str(tmp_path))
    return FileStore(str(tmp_path), sync=request.param == "synced files")


def test_a_value_is_created_once(store: Store) -> None:
    assert store.get("a/b") is None
    version = store.create("a/b", b"one")
    assert store.get("a/b") == Entry(b"one", version)
    with pytest.raises(Exists):
        store.create("a/b", b"two")
    assert store.get("a/b") == Entry(b"one", version)


def test_replace_only_from_the_version_seen(store: Store) -> None:
    first = store.create("a", b"one")
    second = store.replace("a", b"two", first)
    with pytest.raises(Changed):
        store.replace("a", b"three", first)
    assert store.get("a") == Entry(b"two", second)
    with pytest.raises(Changed):
        store.replace("nothing/there", b"x", first)
    assert store.get("nothing/there") is None


def test_delete(store: Store) -> None:
    first = store.create("a", b"one")
    second = store.replace("a", b"two", first)
    with pytest.raises(Changed):
        store.delete_if("a", first)
    assert store.get("a") is not None
    store.delete_if("a", second)
    assert store.get("a") is None
    with pytest.raises(Changed):
        store.delete_if("a", second)
    assert store.delete("a") is False
    store.create("a", b"again")
    assert store.delete("a") is True
    assert store.get("a") is None


def test_listing_is_in_order_by_prefix_and_can_go_on(store: Store) -> None:
    keys = ["a.txt", "a/1", "a/2/x", "a/2/y", "a0", "b/1", "c"]
    for key in reversed(keys):
        store.create(key, b"v")
    assert list(store.list("")) == keys
    assert list(store.list("a/")) == ["a/1", "a/2/x", "a/2/y"]
    assert list(store.list("a/2/x")) == ["a/2/x"]
    assert list(store.list("a")) == ["a.txt", "a/1", "a/2/x", "a/2/y", "a0"]
    for key in keys:
        assert list(store.list("", key)) == [other for other in keys if other > key]
    assert list(store.list("", "a/2/")) == ["a/2/x", "a/2/y", "a0", "b/1", "c"]
    assert list(store.list("", "a/3")) == ["a0", "b/1", "c"]
    assert list(store.list("nowhere/")) == []
    assert list(store.folders("")) == ["a", "b"]
    assert list(store.folders("a/")) == ["2"]
    assert list(store.folders("nowhere/")) == []
    store.delete("a/1")
    assert list(store.list("a/")) == ["a/2/x", "a/2/y"]


@pytest.mark.parametrize("key", ["", "/etc/passwd", "../x", "a/../../x", "a//b", "a/./b", "a/", "a\0b"])
def test_no_key_leaves_the_store(store: Store, key: str) -> None:
    with pytest.raises(BadInput):
        store.create(key, b"x")


def test_one_of_many_threads_wins_each_version(store: Store) -> None:
    version = store.create("cell", b"0")
    won: list[int] = []
    start = threading.Barrier(8)

    def contend(number: int) -> None:
        mine = version
        start.wait()
        for round_ in range(20):
            try:
                store.replace("cell", b"%d %d" % (round_, number), mine)
                won.append(round_)
            except Changed:
                pass
            while (entry := store.get("cell")) is None or int(entry.data.split()[0]) < round_:
                pass
            mine = entry.version
            start.wait()

    version = store.replace("cell", b"-1", version)
    threads = [threading.Thread(target=contend, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == list(range(20))


class LosesAnswers:
    """A store whose next answers get lost: the write takes effect or not, as told."""

    def __init__(self, store: Store, effects: Iterator[bool]) -> None:
        self._store = store
        self._effects = effects
        self.get = store.get

    def create(self, key: str, data: bytes) -> str:
        return self._lose(lambda: self._store.create(key, data))

    def replace(self, key: str, data: bytes, version: str) -> str:
        return self._lose(lambda: self._store.replace(key, data, version))

    def _lose(self, write):  # type: ignore[no-untyped-def]
        effect = next(self._effects, None)
        if effect is None:
            return write()
        if effect:
            write()
        raise Unsure("the answer was lost")


@pytest.mark.parametrize("effects", [[True], [False], [False, True], [False, False]])
def test_lost_answers_are_settled(store: Store, effects: list[bool]) -> None:
    lossy = LosesAnswers(store, iter(effects))
    version = settle.create(lossy, "a", b"mine")  # type: ignore[arg-type]
    assert store.get("a") == Entry(b"mine", version)
    lossy = LosesAnswers(store, iter(effects))
    version = settle.replace(lossy, "a", b"next", version)  # type: ignore[arg-type]
    assert store.get("a") == Entry(b"next", version)


def test_a_lost_answer_is_no_excuse_for_taking_what_another_has(store: Store) -> None:
    store.create("a", b"theirs")
    with pytest.raises(Exists):
        settle.create(LosesAnswers(store, iter([False])), "a", b"mine")  # type: ignore[arg-type]
    with pytest.raises(Changed):
        settle.replace(LosesAnswers(store, iter([False])), "a", b"mine", "old")  # type: ignore[arg-type]
    with pytest.raises(Unsure):
        settle.create(LosesAnswers(store, iter([False] * 9)), "b", b"mine")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_processes_contend_for_creation_and_replacement(kind: str, tmp_path: Path) -> None:
    code = """
import sys
from dibs.stores.files import FileStore
from dibs.stores.shared import SharedFileStore
from dibs.stores.store import Changed, Exists, Unsure
from dibs.stores.versioned import VersionedFileStore
versioned = lambda root: VersionedFileStore(root, replaced=lambda key: True)
kinds = {"files": FileStore, "files of a share": SharedFileStore, "large files of a share": versioned}
store = kinds[sys.argv[3]](sys.argv[1])
won = unsure = 0
for number in range(100):
    try:
        store.create(f"new/{number}", sys.argv[2].encode())
        won += 1
    except Exists:
        pass
for _ in range(50):
    while True:
        entry = store.get("sum")
        try:
            store.replace("sum", b"%d" % (int(entry.data) + 1), entry.version)
            break
        except Changed:
            pass
        except Unsure:
            unsure += 1
print(won, unsure)
"""
    KINDS[kind](str(tmp_path)).create("sum", b"0")
    runs = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), str(number), kind], stdout=subprocess.PIPE)
        for number in range(6)
    ]
    won, unsure = (
        sum(counts) for counts in zip(*(map(int, run.communicate()[0].split()) for run in runs), strict=True)
    )
    assert won == 100
    entry = KINDS[kind](str(tmp_path)).get("sum")
    assert entry is not None and 300 <= int(entry.data) <= 300 + unsure
    assert not unsure or kind == "large files of a share"
    assert kind == "files of a share" or list((tmp_path / "tmp").iterdir()) == []


class ShiftedClock(SystemClock):
    def __init__(self) -> None:
        self.shift = 0.0

    def boottime(self) -> float:
        return super().boottime() + self.shift


@pytest.mark.parametrize("kind", ["files", "files of a share"])
def test_an_empty_file_is_a_creation_that_has_not_happened(kind: str, tmp_path: Path) -> None:
    store = KINDS[kind](str(tmp_path))
    (tmp_path / "cell").touch()
    assert store.get("cell") is None
    with pytest.raises(Exists):  # a foreign creator may be about to write it
        store.create("cell", b"mine")
    old = store.now() - HOLLOW_SECONDS - 1
    os.utime(tmp_path / "cell", (old, old))
    version = store.create("cell", b"mine")
    assert store.get("cell") == Entry(b"mine", version)


@pytest.mark.parametrize(
    ("kind", "size"), [("files", 200_000), ("files of a share", 60_000), ("large files of a share", 200_000)]
)
def test_readers_never_see_half_a_value(kind: str, size: int, tmp_path: Path) -> None:
    store = KINDS[kind](str(tmp_path))
    values = [letter * size for letter in (b"a", b"b")]
    version = store.create("cell", values[0])
    done = threading.Event()
    torn: list[bytes] = []

    def read() -> None:
        while not done.is_set():
            entry = store.get("cell")
            if entry is None or entry.data not in values:
                torn.append(b"?" if entry is None else entry.data[:10])

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(100):
        version = store.replace("cell", values[(number + 1) % 2], version)
    done.set()
    reader.join()
    assert torn == []


def test_a_stopped_process_holds_up_one_key_and_says_so(tmp_path: Path) -> None:
    code = """
import sys
from dibs.stores.files import FileStore
store = FileStore(sys.argv[1])
with store.locked("cell", store.get("cell").version):
    print("locked", flush=True)
    sys.stdin.read()
"""
    clock = ShiftedClock()
    store = FileStore(str(tmp_path), clock=clock)
    version = store.create("cell", b"one")
    other = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert other.stdout is not None and other.stdin is not None
    assert other.stdout.readline() == b"locked\n"
    try:
        os.kill(other.pid, signal.SIGSTOP)
        waiting = threading.Timer(0.05, lambda: setattr(clock, "shift", 3600.0))
        waiting.start()
        with pytest.raises(Busy, match="stopped"):
            store.replace("cell", b"two", version)
        assert store.get("cell") == Entry(b"one", version)
        store.create("another", b"x")
    finally:
        os.kill(other.pid, signal.SIGKILL)
        other.communicate()
    store.replace("cell", b"two", version)


def test_a_batch_is_synced_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: (synced.append(descriptor), real(descriptor))[1])
    store = FileStore(str(tmp_path), sync=True)
    store.create("folder/first", b"x")
    one = len(synced)
    assert one >= 2  # content and folder entry
    with store.batch():
        for number in range(50):
            store.create(f"folder/{number}", b"x")
        assert len(synced) == one
    assert len(synced) < one + 50
    store.create("folder/alone", b"x")
    assert len(synced) >= one + 2


def test_errors_name_the_path_and_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FileStore(str(tmp_path))

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StorageError, match="free some space"):
        store.create("a", b"x")
    monkeypatch.undo()
    assert list(store.list("")) == [] and list((tmp_path / "tmp").iterdir()) == []
    gone = FileStore(str(tmp_path / "gone"))
    with pytest.raises(StorageError, match=r"gone.*deleted or moved"):
        gone.create("a/b", b"x")
    assert not (tmp_path / "gone").exists()


def test_leftovers_of_crashed_writers_are_swept(tmp_path: Path) -> None:
    store = FileStore(str(tmp_path))
    store.create("a", b"x")
    leftover = tmp_path / "tmp" / "123-crashed"
    leftover.write_bytes(b"half")
    assert store.sweep() == 0
    os.utime(leftover, (1, 1))
    assert store.sweep() == 1
    assert not leftover.exists()
    assert list(store.list("")) == ["a"]
