"""Versions of files in a folder: where a fresh nonce begins the file its beginning is enough, elsewhere it is not."""

import random
from pathlib import Path

import pytest

from dibs.clock import SYSTEM
from dibs.index.block import pack
from dibs.index.layout import file_of
from dibs.index.opening import open_store
from dibs.index.usv import line_of
from dibs.stores.store import Changed, Store

PATH = file_of("00")
LINES = [line_of([f"k{number:04}", "1", "x" * 50]) for number in range(100)]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    opened = open_store(str(tmp_path / "index"), clock=SYSTEM, rng=random.Random(1))
    opened.found()
    return opened.store


def written(nonce: str, lines: list[bytes] = LINES) -> bytes:
    return pack(("key", "updated_at", "a"), lines, nonce)


def version(store: Store) -> str:
    entry = store.get(PATH)
    assert entry is not None
    return entry.version


def test_the_same_records_written_again_are_another_version(store: Store) -> None:
    first = store.create(PATH, written("a" * 16))
    assert first == version(store)
    second = store.replace(PATH, written("b" * 16), first)
    assert second == version(store) != first
    with pytest.raises(Changed):
        store.replace(PATH, written("c" * 16), first)
    assert store.replace(PATH, written("c" * 16), second) == version(store)


def test_of_a_foreign_file_every_byte_counts(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "index" / PATH
    file.parent.mkdir()
    file.write_bytes(b"\n".join(LINES))
    seen = version(store)
    file.write_bytes(b"\n".join([*LINES[:-1], LINES[-1].replace(b"x", b"y")]))
    with pytest.raises(Changed):
        store.replace(PATH, written("a" * 16), seen)
