"""The store in LMDB: one transaction for many steps, a map that grows, processes and forks."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from children import environment
from dibs.errors import BadInput, FormatError, StorageError
from dibs.stores.lmdb import LmdbStore
from dibs.stores.store import Changed, Exists

SMALL = 1 << 16


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LmdbStore]:
    opened = LmdbStore(str(tmp_path / "store"), sync=False, map_bytes=SMALL)
    yield opened
    opened.close()


def transactions(store: LmdbStore) -> int:
    count: int = store._env()._env.info()["last_txnid"]
    return count


def test_steps_together_are_one_transaction(store: LmdbStore) -> None:
    store.create("first", b"1")
    before = transactions(store)
    with store.together():
        version = store.create("a", b"1")
        with pytest.raises(Exists):
            store.create("a", b"2")
        with store.together():
            version = store.replace("a", b"2", version)
        with pytest.raises(Changed):
            store.delete_if("a", "other")
        assert store.get("a") is not None
        assert list(store.list("")) == ["a", "first"]
    assert transactions(store) == before + 1
    with store.together():
        assert store.get("a") is not None
    assert transactions(store) == before + 1, "reading alone begins none"


def test_what_was_done_before_an_error_stays(store: LmdbStore) -> None:
    with pytest.raises(RuntimeError), store.together():
        store.create("a", b"1")
        raise RuntimeError
    assert store.get("a") is not None
    store.create("b", b"free again")


def test_others_do_not_see_half(store: LmdbStore) -> None:
    inside, looked = threading.Event(), threading.Event()
    seen: list[list[str]] = []

    def look() -> None:
        inside.wait(30)
        seen.append(list(store.list("")))
        looked.set()

    thread = threading.Thread(target=look)
    thread.start()
    with store.together():
        store.create("a", b"1")
        inside.set()
        looked.wait(30)
        store.create("b", b"1")
    thread.join()
    assert seen == [[]]
    assert list(store.list("")) == ["a", "b"]


def test_the_map_grows_with_what_is_written(store: LmdbStore) -> None:
    for n in range(300):
        store.create(f"small/{n:04d}", b"x" * 1000)
    store.create("large", b"y" * 30_000_000)
    with store.together():
        for n in range(3000):
            store.create(f"many/{n:04d}", b"z" * 5000)
    assert len(list(store.list(""))) == 3301
    found = store.get("large")
    assert found is not None
    assert len(found.data) == 30_000_000


def test_the_map_grows_under_threads(store: LmdbStore) -> None:
    def fill(part: int) -> int:
        for n in range(60):
            store.create(f"{part}/{n}", bytes([part]) * 50_000)
            assert store.get(f"{part}/{n}") is not None
        return len(list(store.list(f"{part}/")))

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(fill, range(6))) == [60] * 6


def test_the_map_grows_under_processes(store: LmdbStore, tmp_path: Path) -> None:
    code = (
        "import sys; from dibs.stores.lmdb import LmdbStore\n"
        f"store = LmdbStore(sys.argv[1], sync=False, map_bytes={SMALL})\n"
        "for n in range(80): store.create(f'{sys.argv[2]}/{n}', b'x' * 100_000)\n"
    )
    words = [sys.executable, "-c", code, store.folder]
    processes = [subprocess.Popen([*words, str(n)], env=environment()) for n in range(3)]
    while any(process.poll() is None for process in processes):
        list(store.list(""))
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert len(list(store.list(""))) == 240
    store.create("mine", b"too")


def test_a_forked_child_opens_its_own(store: LmdbStore) -> None:
    store.create("parent", b"1")
    with store.together():
        store.create("open", b"1")  # a transaction is open while the child is made
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                assert store.get("parent") is not None
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(pid, 0)[1] == 0
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            store.create("child", b"1")
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
    store.create("after", b"1")
    assert list(store.list("")) == ["after", "child", "open", "parent"]


def test_a_child_may_be_forked_while_other_threads_write(store: LmdbStore) -> None:
    over = threading.Event()

    def write() -> None:
        n = 0
        while not over.is_set():
            with store.together():
                store.create(f"{threading.get_ident()}/{n}", b"x")
                n += 1

    threads = [threading.Thread(target=write) for _ in range(3)]
    for thread in threads:
        thread.start()
    for child in range(10):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                signal.alarm(20)
                store.create(f"child/{child}", b"1")
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(pid, 0)[1] == 0
    over.set()
    for thread in threads:
        thread.join()
    assert len(list(store.list("child/"))) == 10


def test_one_process_may_open_it_many_times(store: LmdbStore) -> None:
    others = [LmdbStore(store.folder, sync=False) for _ in range(3)]
    others[0].create("a", b"1")
    for other in others:
        other.close()
        other.close()
    assert store.get("a") is not None


def test_a_key_that_is_too_long_is_refused(store: LmdbStore) -> None:
    with pytest.raises(BadInput, match="511"):
        store.create("x" * 512, b"1")
    store.create("x" * 511, b"1")


def test_what_is_no_environment_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "data.mdb").write_bytes(b"my own file" * 1000)
    with pytest.raises(FormatError, match="another folder"):
        LmdbStore(str(tmp_path))
    assert (tmp_path / "data.mdb").read_bytes() == b"my own file" * 1000


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError):
        LmdbStore(str(tmp_path / "file"))
