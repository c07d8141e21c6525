"""What is no queue of this format is refused, in one line, and left as it is."""

import os
import subprocess
import sys
from pathlib import Path

import lmdb
import pytest

import dibs
from children import environment
from dibs.errors import BadInput, FormatError, StorageError
from dibs.queues.lmdb.layout import FORMAT_KEY


def write(folder: Path, entries: dict[bytes, bytes]) -> None:
    with lmdb.open(str(folder), map_size=1 << 20) as env, env.begin(write=True) as txn:
        for key, value in entries.items():
            txn.put(key, value)


def read(folder: Path) -> dict[bytes, bytes]:
    with lmdb.open(str(folder), map_size=1 << 20) as env, env.begin() as txn:
        return dict(txn.cursor())


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({FORMAT_KEY: b'{"format":4,"retention":1.0}'}, "format 4.*upgrade dibs"),
        ({FORMAT_KEY: b'{"format":2,"retention":1.0}'}, "format 2.*no longer"),
        ({b"dibs.json": b'{"format":1}', b"cells/x": b"{}"}, "format 1.*no longer"),
        ({b"their own": b"thing"}, "somebody else"),
    ],
)
@pytest.mark.parametrize("create", [True, False])
def test_another_format_is_refused(tmp_path: Path, entries: dict[bytes, bytes], words: str, create: bool) -> None:
    write(tmp_path / "q", entries)
    with pytest.raises(FormatError, match=words) as refused:
        dibs.open(f"lmdb:{tmp_path}/q", create=create)
    assert "\n" not in str(refused.value)
    assert read(tmp_path / "q") == entries


def test_the_settings_at_creation_stay(tmp_path: Path) -> None:
    dibs.open(f"lmdb:{tmp_path}/q?retention=5").close()
    assert b'"retention":5.0' in read(tmp_path / "q")[FORMAT_KEY]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("sync=maybe", "sync=maybe"),
        ("colour=red", "colour"),
        ("map=big", "map"),
        ("retention=x", "x"),
        ("retention=-1", "retention"),
        ("retention=nan", "retention"),
    ],
)
def test_settings_that_are_none(tmp_path: Path, query: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        dibs.open(f"lmdb:{tmp_path}/q?{query}")
    assert not (tmp_path / "q").exists()


def test_a_queue_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no queue"):
        dibs.open(f"lmdb:{tmp_path}/q", create=False)
    assert not (tmp_path / "q").exists()
    with pytest.raises(BadInput, match="names no folder"):
        dibs.open("lmdb:")


def test_what_is_no_environment_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "data.mdb").write_bytes(b"my own file" * 1000)
    with pytest.raises(FormatError, match="another folder"):
        dibs.open(f"lmdb:{tmp_path}")
    assert (tmp_path / "data.mdb").read_bytes() == b"my own file" * 1000


def test_a_file_in_the_way_and_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for place in (tmp_path / "file", "/proc/1/queue"):
        with pytest.raises(StorageError) as refused:
            dibs.open(f"lmdb:{place}")
        assert "\n" not in str(refused.value)


def test_without_the_driver_the_way_to_it_is_named(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['lmdb'] = None\n"
        "import dibs, dibs.errors\n"
        f"try: dibs.open('lmdb:{tmp_path}/q')\n"
        "except dibs.errors.MissingExtra as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment())
    assert "pip install 'dibs[lmdb]'" in done.stdout
    assert not os.path.exists(tmp_path / "q")
